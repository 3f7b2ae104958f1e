"""Expansion: one accepted example of a task becomes many, with other argument values and other words.

Comes in: tasks with examples that people wrote, the repository's files at the pin, and what other commands of the same
script are given. Goes out: further examples of the same tasks, each of which passes the rules of ``check``. Open
``expanding.py`` first; ``seeds.py`` says what is varied, ``scripts.py`` and ``snippets.py`` edit outputs,
``wording.py`` and ``writing.py`` (a model) write instructions, ``gate.py`` decides what is taken.
"""
