"""Controls: what must be shown of an example before it is called verified, and where each example stands.

Comes in: tasks with their examples, evidence, and the repository's files at the pin. Goes out: near misses (an
example's own output with one argument changed), verdicts on them, and for each example a :class:`Standing`: verified
only with dated evidence of repeated gold runs, of a no-op that does not pass, and of near misses that are refused, all
bound to digests of what they were made of. Open ``standing.py`` first, then ``near_misses.py``; ``../validation.py``
makes the evidence.
"""

from __future__ import annotations

from .digests import NOTHING, check_digest, example_job, no_op_digest, no_op_job, run_digest
from .near_misses import Judged, NearMiss, judged, near_misses
from .standing import Standing, State, count_states, standing_of, standings

__all__ = [
    "NOTHING",
    "Judged",
    "NearMiss",
    "Standing",
    "State",
    "check_digest",
    "count_states",
    "example_job",
    "judged",
    "near_misses",
    "no_op_digest",
    "no_op_job",
    "run_digest",
    "standing_of",
    "standings",
]
