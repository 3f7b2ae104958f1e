"""Asking a model: the prompts of a release in, a file of predictions out.

Comes in: a release, a setting and any OpenAI-compatible chat endpoint. Goes out: ``FILE`` (ML-Bench's predictions),
``FILE.meta.json`` (what was asked, what is missing, tokens, cost) and ``FILE.journal`` (every raw answer, a line each,
written the moment it came). Open ``run.py`` first; ``core/endpoint.py`` says which answers are answers,
``core/pacing.py`` when to ask, ``journal.py`` how nothing is asked for twice.
"""

from .meta import Declared, declared_by, meta_path
from .run import Options, Predicted, predict, preview

__all__ = ["Declared", "Options", "Predicted", "declared_by", "meta_path", "predict", "preview"]
