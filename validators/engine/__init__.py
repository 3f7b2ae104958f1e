"""Engines: how many runs are spread over workers. Comes in: jobs and a function. Goes out: results as they finish."""

from .local import spread

__all__ = ["spread"]
