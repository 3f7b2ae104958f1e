"""The Ray engine: jobs go to workers on the nodes of a cluster, each a runner of its own with one sandbox.

Comes in: jobs of any number. Goes out: each with its outcome, to the one driver, which alone records. A node needs
this toolkit, the sandbox and, for environments that it cannot build itself, a registry; recipes and locks are sent to
it, and what it built from them is used only where its digest is the driver's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from filelock import FileLock

from ...core.cluster import Elsewhere, Lost, Need, Pool
from ...core.errors import BenchwrightError, PrerequisiteError
from ...core.files import atomic_write
from ...core.models import Limits, Outcome
from ...core.progress import Reporter
from ...core.workspace import cache_dir
from ..execution import Job, Runner
from ..outcomes import infrastructure
from ..sandbox import NAMES

if TYPE_CHECKING:
    from ray import ObjectRef

__all__ = ["RayRunner"]

MOST_BYTES = 8 * 2**20
"""Of one file of an environment's folder: recipes, locks and records are far smaller."""


@dataclass(frozen=True)
class Parcel:
    """A job as it is sent to a node, with what its environment is made from."""

    job: Job
    digest: str
    """Of the environment on the driver; empty where it is not to be had there."""
    files: ObjectRef[Mapping[str, bytes]]
    """File name -> content, of the environment's folder; fetched by a node that lacks the environment."""


class RayRunner(Runner):
    """A runner whose sandboxes are on the nodes of a cluster."""

    def __init__(
        self,
        sandbox: str | None = None,
        environments_dir: Path | None = None,
        clones_dir: Path | None = None,
        mirrors: Sequence[str] = (),
        workers: int | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        """As a runner; ``workers``: None for as many as the cluster holds of each job's needs.

        Raises:
            PrerequisiteError: Ray is not installed.
            InfrastructureError: the cluster cannot be reached.
        """
        self._name = sandbox or "docker"
        if self._name not in NAMES:
            raise BenchwrightError(f"there is no sandbox {sandbox}", remedy=f"name one of {', '.join(NAMES)}")
        self._reporter = reporter or Reporter(quiet=True)
        self._environments_dir = environments_dir
        self._lock = threading.Lock()
        self._systems = {}
        self._files: dict[str, ObjectRef[Mapping[str, bytes]]] = {}
        make = partial(NodeWorker, self._name, clones_dir, tuple(mirrors))
        self._pool = Pool(make, workers, self._reporter)

    @property
    def sandbox(self) -> str:
        return self._name

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Outcome]]:
        parcels = self._pool.spread(map(self._parcel, jobs), self._need, lambda parcel: parcel.job.environment)
        for parcel, result in parcels:
            yield parcel.job, infrastructure(result.reason, self._name) if isinstance(result, Lost) else result

    def execute(self, job: Job) -> Outcome:
        [(_, outcome)] = self.run([job])
        return outcome

    def holds(self, limits: Limits) -> int:
        return self._pool.holds(Need(limits.cpus, limits.memory_bytes, label=f"benchwright-{self._name}"))

    def prepare(self, job: Job) -> None:
        """Trees and environments are made on the nodes, by the first job that needs them there."""
        self._system(job.environment)

    def stop(self) -> None:
        self._pool.close()

    def _parcel(self, job: Job) -> Parcel:
        import ray

        try:
            digest = self._system(job.environment).digest
        except BenchwrightError:
            digest = ""  # nothing here to compare with: the node says what is wrong
        if job.environment not in self._files:
            self._files[job.environment] = ray.put(_files_of(self._environments_dir, job.environment))
        return Parcel(job, digest, self._files[job.environment])

    def _need(self, parcel: Parcel) -> Need:
        job = parcel.job
        gpus = job.gpus
        if gpus is None:
            gpus = self._systems[job.environment].gpus if job.environment in self._systems else 0
        return Need(job.limits.cpus, job.limits.memory_bytes, gpus, f"benchwright-{self._name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()


def _files_of(environments_dir: Path | None, name: str) -> dict[str, bytes]:
    folder = environments_dir / name if environments_dir else None
    if folder is None or not folder.is_dir():
        return {}
    files = (path for path in folder.iterdir() if path.is_file() and path.stat().st_size <= MOST_BYTES)
    return {path.name: path.read_bytes() for path in sorted(files)}


class NodeWorker:
    """What runs on a node: one sandbox, one job at a time."""

    def __init__(self, sandbox: str, clones_dir: Path | None, mirrors: Sequence[str]) -> None:
        """The clones are the node's own, but where the driver's lie on this machine too.

        Raises:
            PrerequisiteError: the sandbox cannot be had on this node.
        """
        clones = clones_dir if clones_dir and clones_dir.is_dir() else cache_dir() / "repositories"
        self._runner = Runner(sandbox, None, clones, mirrors).__enter__()
        self._ready: set[str] = set()

    def work(self, parcel: Parcel) -> Outcome | Elsewhere:
        """Run the job; ``Elsewhere`` where this node cannot have its environment as the driver has it."""
        if parcel.job.environment not in self._ready:
            try:
                self._make_ready(parcel)
            except BenchwrightError as error:
                return Elsewhere(str(error))
            self._ready.add(parcel.job.environment)
        return self._runner.execute(parcel.job)

    def _make_ready(self, parcel: Parcel) -> None:
        import ray

        from ..environments import build, open_system

        name = parcel.job.environment
        files: Mapping[str, bytes] = ray.get(parcel.files)
        place = cache_dir() / "recipes" / (parcel.digest[:20] or "unknown")
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{place}.lock"):  # one worker of the node builds, the others find it built
            for file, content in files.items():
                if not (place / name / file).is_file() or (place / name / file).read_bytes() != content:
                    (place / name).mkdir(exist_ok=True)
                    atomic_write(place / name / file, content)
            try:
                system = open_system(place, name)
            except PrerequisiteError:
                build(place, name, Reporter(quiet=True))
                system = open_system(place, name)
        if parcel.digest and system.digest != parcel.digest:
            raise BenchwrightError(
                f"the environment {name} made here is another than the driver's: {system.digest[:12]} from "
                f"{system.base}, wanted {parcel.digest[:12]}",
                remedy="give its recipe a base other than host, which every machine has alike",
            )
        self._runner.use(system)

    def stop(self) -> None:
        self._runner.stop()

    def close(self) -> None:
        self._runner.__exit__(None, None, None)
