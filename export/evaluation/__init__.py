"""Scoring a model's answers with a release.

Comes in: a release (``export.dataset``) and a file of predictions. Goes out: ``results.jsonl`` (a line a sample),
``report.json`` and ``outcomes.jsonl`` (what each execution gave). Open ``run.py`` first; then ``answers.py`` (which
text of an answer is the code), ``score.py`` and ``mlbench.py`` (the two protocols) and ``metrics.py`` (pass@k);
``plan.py`` says beforehand what it will take.
"""

from .answers import Extraction, extract
from .metrics import clustered_interval, pass_at_k
from .plan import Plan, plan
from .predictions import Predictions, read_predictions
from .run import Evaluation, evaluate
from .settings import Options

__all__ = [
    "Evaluation",
    "Extraction",
    "Options",
    "Plan",
    "Predictions",
    "clustered_interval",
    "evaluate",
    "extract",
    "pass_at_k",
    "plan",
    "read_predictions",
]
