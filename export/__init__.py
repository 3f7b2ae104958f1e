"""From accepted tasks to a release, and from a model's answers to a score.

Comes in: ``tasks/`` of a workspace (written by ``annotation``, executed by ``validators``), or a published dataset;
for a score, a release and a file of predictions. Goes out: a release folder (Parquet, card, checksums, environments)
and ``results.jsonl`` with ``report.json``. Open ``release.py`` first (how a folder is built), then ``rows.py`` (what a
row is) and ``dataset.py`` (from tasks to rows); ``evaluation/`` asks a model and scores its answers, ``hub/``
publishes, ``chat.py``, ``harbor.py`` and ``inspect.py`` write for other tools, ``demo/`` walks the whole pipeline.
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
