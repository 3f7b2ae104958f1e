"""From accepted tasks to a release, and from a model's answers to a score.

Comes in: ``tasks/`` of a workspace (written by ``annotation``, executed by ``validators``), or a published dataset;
for a score, a release and a file of predictions. Goes out: a release folder (Parquet, card, checksums, environments)
and ``results.jsonl`` with ``report.json``. Open ``rows.py`` first (what a row is), then ``dataset.py`` (how every
reader opens a dataset or release) and ``release/build.py`` (how a release folder is made). ``importer.py`` brings a
published dataset into ``tasks/``, with ``find_oracle.py``; ``evaluation/`` asks a model and scores its answers,
``hub/`` publishes; for other tools write ``chat.py`` (trainers), ``harbor.py`` (agents; ``harbor_verifier.py`` is what
then scores in a container) and ``inspect_ai.py``; ``demo/`` walks the whole pipeline.
"""

from .dataset import Dataset, open_dataset
from .importer import Imported, import_dataset
from .release import Built, assign_splits, build_release, join
from .rows import COLUMNS, PROVENANCE, Row, arguments_of

__all__ = [
    "COLUMNS",
    "PROVENANCE",
    "Built",
    "Dataset",
    "Imported",
    "Row",
    "arguments_of",
    "assign_splits",
    "build_release",
    "import_dataset",
    "join",
    "open_dataset",
]
