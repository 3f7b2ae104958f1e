"""A release: from accepted tasks to a folder that is published, and everything about such a folder.

Comes in: a workspace with ``tasks/`` and ``splits/``, and the repositories on this machine. Goes out: a release folder
(what lies in it stands in ``build.py``; open that first). ``compile.py`` makes rows of tasks; ``repositories.py`` and
``retrieval.py`` are the other configurations, which ``joining.py`` puts together with the rows again; ``assign.py``
makes splits, ``border.py`` with ``likeness.py`` keeps them apart; ``licenses.py`` says what may be passed on;
``card.py``, ``composition.py``, ``croissant.py``, ``about.py`` and ``changelog.py`` describe it; ``verify.py`` judges
a folder, ``diff.py`` compares two.
"""

from .assign import Assigned, assign_splits
from .build import Built, build_release
from .diff import Difference, diff_releases
from .joining import join
from .verify import Problem, check_release

__all__ = [
    "Assigned",
    "Built",
    "Difference",
    "Problem",
    "assign_splits",
    "build_release",
    "check_release",
    "diff_releases",
    "join",
]
