"""Validators: scripts are executed in sandboxes, and what happened is judged, recorded and kept.

Comes in: tasks (or predictions, or one file), environments' recipes, repositories at their pins. Goes out: outcomes,
and evidence beside each task. Open ``execution.py`` first, then ``sandbox/contract.py`` and ``outcomes.py``.
"""
