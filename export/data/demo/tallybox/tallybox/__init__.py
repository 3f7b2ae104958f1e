"""Counting and smoothing for streams of labels."""

from .agreement import agreement
from .smoother import Smoother
from .tally import Tally

__all__ = ["Smoother", "Tally", "agreement"]
