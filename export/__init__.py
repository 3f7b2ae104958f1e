"""From accepted tasks to a release, and from a model's answers to a score.

Comes in: ``tasks/`` of a workspace (written by ``annotation``, executed by ``validators``), or a published dataset;
for a score, a release and a file of predictions. Goes out: a release folder (Parquet, card, checksums, environments)
and ``results.jsonl`` with ``report.json``. Open ``rows.py`` first (what a row is), then ``release.py`` (how a folder
is built) or ``evaluation/`` (how answers are scored).
"""

from .documents import join
from .importer import Imported, import_dataset
from .release import Built, build_release
from .rows import COLUMNS, PROVENANCE, Row, arguments_of
from .sources import Dataset, open_dataset

__all__ = [
    "COLUMNS",
    "PROVENANCE",
    "Built",
    "Dataset",
    "Imported",
    "Row",
    "arguments_of",
    "build_release",
    "import_dataset",
    "join",
    "open_dataset",
]
