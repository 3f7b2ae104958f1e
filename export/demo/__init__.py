"""The whole pipeline on two small repositories that the package carries, with the real services.

Comes in: a folder. Goes out: a workspace in it with everything the pipeline leaves, and a table of what happened and
where it lies. Open ``walk.py`` first; ``people.py`` is what two annotators do, ``answers.py`` what a model answers.
"""

from .walk import Demo, Step, run_demo

__all__ = ["Demo", "Step", "run_demo"]
