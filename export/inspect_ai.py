"""An inspect_ai task: the examples as samples, judged by our strict protocol in our sandbox.

Comes in: a dataset. Goes out: a folder with ``NAME.py`` (the task that ``inspect eval`` runs), ``SETTING.jsonl`` (its
samples) and ``environments/``. The task file is short: it calls :class:`Judge`, which imports nothing of inspect_ai.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import re
import shutil
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import BenchwrightError
from ..core.files import atomic_write, staged_directory
from ..core.models import Limits, Outcome, Repository
from ..core.progress import Reporter
from ..core.workspace import cache_dir
from .chat import CHARACTERS, FENCES, Contexts, fenced, question_of
from .dataset import Dataset
from .evaluation.score import NOT_EXECUTED, Sample, examine, with_outcome
from .evaluation.settings import Setting, repository_names, settings_of
from .rows import Row, row_of

if TYPE_CHECKING:
    from ..curation.source import PinnedTree
    from ..validators.execution import Runner

__all__ = ["InspectExport", "Judge", "export_inspect"]


@dataclass(frozen=True)
class InspectExport:
    """What was written."""

    folder: Path
    task_file: Path
    samples: dict[str, int]
    """Setting -> samples."""

    def value(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "task_file": str(self.task_file), "samples": self.samples}


def export_inspect(
    dataset: Dataset,
    folder: Path,
    *,
    split: str | None = None,
    settings: Sequence[str] = ("oracle",),
    characters: int = CHARACTERS,
    environments_dir: Path | None = None,
    mirrors: Sequence[str] = (),
    reporter: Reporter,
) -> InspectExport:
    """Write the task of a split (default: the main one) into the new folder.

    Raises:
        BenchwrightError: ``folder`` is not empty, or a repository that a setting reads cannot be had.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BenchwrightError("there is something already", where=str(folder), remedy="name a new folder with -o")
    rows = list(dataset.rows(split or dataset.main_split()))
    known = settings_of(dataset, rows, repository_names(dataset, rows))
    contexts = Contexts(dataset, rows, characters, mirrors)
    name = re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_") or "benchmark"
    name = f"b_{name}" if name[0].isdigit() else name
    with staged_directory(folder.resolve()) as stage, reporter.track("writing", len(settings) * len(rows)) as advance:
        for setting in settings:
            with open(stage / f"{setting}.jsonl", "w", encoding="utf-8", newline="") as file:
                for row in rows:
                    question = question_of(row, setting, contexts.of(row, setting))
                    file.write(json.dumps(_sample(row, known[row.key], question), ensure_ascii=False) + "\n")
                    advance(f"{setting} {row.github_id}/{row.id}")
        environments = environments_dir or (dataset.folder / "environments" if dataset.folder else None)
        if environments and environments.is_dir():
            shutil.copytree(environments, stage / "environments")
        atomic_write(stage / f"{name}.py", TASK_FILE.format(name=name, setting=settings[0]))
    return InspectExport(folder, folder / f"{name}.py", {setting: len(rows) for setting in settings})


def _sample(row: Row, setting: Setting, question: str) -> dict[str, Any]:
    return {
        "id": f"{row.github_id}/{row.id}",
        "input": question,
        "target": fenced(row.output, FENCES[row.type]),
        "metadata": {
            "task": row.task_id or f"{row.github}/{row.path}",
            "row": row.values(),
            "repository": setting.repository.model_dump(mode="json", exclude_none=True),
            "environment": setting.environment,
            "limits": setting.limits.model_dump(mode="json"),
            "network": setting.network,
        },
    }


TASK_FILE = '''"""{name} as an Inspect task.

    inspect eval {name}.py --model PROVIDER/MODEL [-T setting={setting}] [--epochs 5]

Answers are judged by benchwright's strict protocol: the right kind of code, the arguments asked for, exit status 0 of
what it starts. They run in benchwright's own sandbox, so Docker (or -T sandbox=bubblewrap) must be there, and the
environments built: benchwright environments build. A failure of the machine is an error of the sample, never a zero.
"""

from pathlib import Path

from benchwright.export.inspect_ai import Judge
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, scorer, stderr
from inspect_ai.solver import generate

HERE = Path(__file__).parent


@scorer(metrics=[accuracy(), stderr(cluster="task")])
def strict(sandbox="docker", mirror=None):
    judge = Judge(HERE / "environments", sandbox, [mirror] if mirror else [])

    async def score(state, target):
        sample = await judge.judge(state.metadata, state.output.completion)
        return Score(
            value=CORRECT if sample.right else INCORRECT,
            answer=sample.code,
            explanation=f"{{sample.outcome}}: {{sample.detail}}",
            metadata=sample.line(),
        )

    return score


@task
def {name}(setting="{setting}", sandbox="docker", mirror=None):
    samples = json_dataset(str(HERE / f"{{setting}}.jsonl"))
    return Task(dataset=samples, solver=generate(), scorer=strict(sandbox, mirror), version=1)
'''


class Judge:
    """Judges answers one by one, from several tasks at a time; the sandbox is opened at the first and held."""

    def __init__(self, environments_dir: Path, sandbox: str = "docker", mirrors: Sequence[str] = ()) -> None:
        self._environments_dir = environments_dir if environments_dir.is_dir() else None
        self._sandbox = sandbox
        self._mirrors = tuple(mirrors)
        self._lock = threading.Lock()
        self._runner: Runner | None = None
        self._trees: dict[tuple[str, str], PinnedTree] = {}

    async def judge(self, metadata: Mapping[str, Any], answer: str) -> Sample:
        """The strict verdict on an answer to the sample with this ``metadata``.

        Raises:
            InfrastructureError: the machine failed, so there is no verdict.
        """
        return await asyncio.to_thread(self._judge, metadata, answer)

    def _judge(self, metadata: Mapping[str, Any], answer: str) -> Sample:
        from ..core.errors import InfrastructureError

        row = row_of(metadata["row"], "the sample's metadata")
        repository = Repository.load(metadata["repository"], "the sample's metadata")
        with self._lock:  # git's reader and the parsers are not made for several threads
            sample = examine(row, 0, answer, self._tree(repository))
        if sample.outcome == NOT_EXECUTED and sample.runs is not None:
            outcome = self._execute(row, sample.runs, repository, metadata)
            sample = with_outcome(sample, row, sample.runs, outcome)
        if sample.ungraded:
            raise InfrastructureError(sample.detail, where=f"example {row.github_id}/{row.id}")
        return sample

    def _execute(self, row: Row, code: str, repository: Repository, metadata: Mapping[str, Any]) -> Outcome:
        from ..validators.execution import Job

        job = Job(
            key=f"{row.github_id}/{row.id}",
            code=code,
            type=row.type,
            path=row.path,
            prefix_code=row.prefix_code,
            repository=repository,
            environment=metadata["environment"],
            limits=Limits.model_validate(metadata["limits"]),
            network=bool(metadata["network"]),
        )
        return self._open().execute(job)

    def _open(self) -> Runner:
        from ..validators.execution import Runner

        with self._lock:
            if self._runner is None:
                clones = cache_dir() / "repositories"
                runner = Runner(self._sandbox, self._environments_dir, clones, self._mirrors)
                self._runner = runner.__enter__()
                atexit.register(runner.__exit__, None, None, None)
            return self._runner

    def _tree(self, repository: Repository) -> PinnedTree:
        from ..curation.source import open_tree

        key = (repository.url, repository.commit)
        if key not in self._trees:
            tree = open_tree(repository, cache_dir() / "repositories", self._mirrors)
            self._trees[key] = tree.__enter__()
        return self._trees[key]
