"""Engines: how many runs are spread over workers. Comes in: jobs and a function. Goes out: results as they finish.

``local.py``: threads of this machine. ``remote.py``: workers on the nodes of a Ray cluster (by ``core/cluster.py``).
"""

from .local import spread, workers_here

__all__ = ["spread", "workers_here"]
