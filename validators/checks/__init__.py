"""Checks: rules with ids over a workspace's examples or over any dataset of ML-Bench's shape.

Comes in: a workspace, or a dataset's files by split, and the registered repositories. Goes out: a :class:`Report` of
findings, each with its rule, place and message; and mended texts where mending is safe. Open ``rules.py`` (all rules
with their reasons) first, then ``run.py``; ``guard.py`` makes the same rules stand before a release.
"""

from __future__ import annotations

from .guard import Guarded, Opener, guard_release, guard_workspace
from .rules import RULES, Rule, rules_page, selected
from .run import Report, check_dataset, check_examples, check_workspace, fix_dataset, fix_workspace
from .subject import Context, Finding, Subject

__all__ = [
    "RULES",
    "Context",
    "Finding",
    "Guarded",
    "Opener",
    "Report",
    "Rule",
    "Subject",
    "check_dataset",
    "check_examples",
    "check_workspace",
    "fix_dataset",
    "fix_workspace",
    "guard_release",
    "guard_workspace",
    "rules_page",
    "selected",
]
