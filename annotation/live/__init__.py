"""Execution while typing: an annotator's draft is run in the sandbox, and what it gave appears in the form.

Comes in: a workspace with projects on a server, and their drafts, which the server posts to ``/predict`` of an ML
backend. Goes out: one text for each draft (outcome, arguments that are not set, the end of the output). Open
``service.py`` first, then ``backend.py`` (the four calls), ``drafts.py`` (what was typed), ``runs.py`` (the bounded
queue) and ``shown.py`` (the text). What is shown here is never read back: an accepted script is executed again.
"""

from .service import LiveOptions, serve

__all__ = ["LiveOptions", "serve"]
