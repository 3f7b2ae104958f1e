"""Validators: scripts are executed in sandboxes, examples are checked by rules; what happened is judged and kept.

Comes in: tasks (or predictions, a dataset, one file), environments' recipes, repositories at their pins. Goes out:
outcomes, evidence beside each task, findings of ``check``. Open ``validation.py`` first (what ``validate`` does), then
``execution.py`` (from a job to an outcome), ``sandbox/contract.py`` and ``outcomes.py``; ``checks/`` and
``arguments/`` judge texts and stand apart.
"""
