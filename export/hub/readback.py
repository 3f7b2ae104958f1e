"""Loading a published release as its readers will, and comparing it with the folder value for value.

The loading runs in a process of its own with an empty Hub home, so that no cache and no earlier setting can answer
for the Hub. That process is ``python -m benchwright.export.hub.readback``: a job as JSON on standard input, the
result as JSON on standard output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BenchwrightError, InfrastructureError
from ...core.workspace import Workspace
from .client import Hub
from .folder import ReleaseFolder
from .patience import patiently, redacted, token_in_use
from .receipt import SplitRead

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["main", "read_back"]

PREFIX = "read-back-"
CLEARED = ("HF_OIDC_RESOURCE", "HF_OIDC_ID_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE")


def read_back(workspace: Workspace, release: ReleaseFolder, hub: Hub, commit: str) -> list[SplitRead]:
    """Load every configuration and split at ``commit`` and compare schema and values with the local Parquet.

    Raises:
        BenchwrightError: something differs (configuration, split, column and row are named).
        InfrastructureError: it could not be loaded.
    """
    hub.say(f"loading the release back from {commit[:12]}")
    for left in workspace.private_dir.glob(f"{PREFIX}*"):  # of a run that was killed
        shutil.rmtree(left, ignore_errors=True)
    workspace.private_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=workspace.private_dir) as home:
        answer = _run(_job(release, hub.repository, commit), Path(home), hub)
    problems = answer["problems"]
    if problems:
        raise BenchwrightError(
            f"what is loaded from the Hub is not what was built: {'; '.join(problems[:5])}",
            where=f"{hub.repository}@{commit[:12]}",
            remedy="nothing was merged: mend the release folder (benchwright release build) and publish again",
        )
    return [SplitRead(**item) for item in answer["splits"]]


def _job(release: ReleaseFolder, repository: str, commit: str) -> dict[str, Any]:
    splits = {
        config: {split: [str(path) for path in paths] for split, paths in parts.items()}
        for config, parts in release.splits.items()
    }
    return {"repository": repository, "commit": commit, "splits": splits}


def _run(job: dict[str, Any], home: Path, hub: Hub) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-P", "-m", __name__],
        input=json.dumps(job),
        env=_environment(home),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
    for line in done.stderr.splitlines():
        if line.startswith(SAID):
            hub.say(line.removeprefix(SAID))
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = redacted(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
        raise InfrastructureError(
            f"loading the release back failed: {last[:500]}", remedy="run the same command again: it continues"
        ) from None
    if "error" in answer:
        raise InfrastructureError(**answer["error"])
    assert isinstance(answer, dict)
    return answer


def _environment(home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in CLEARED and not name.startswith("HF_DATASETS_") and not name.endswith("_CACHE")
    }
    token = token_in_use()
    return {
        **kept,
        **({"HF_TOKEN": token} if token else {}),
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }


# the process that loads ------------------------------------------------------------------------------------

SAID = "say: "


class UnloadableError(BenchwrightError):
    """What the Hub serves is complete and can still not be loaded."""


def main() -> None:
    """Do one job; the answer holds ``splits`` and ``problems``, or ``error`` where the Hub could not be read."""
    job = json.loads(sys.stdin.read())
    try:
        answer = _compare_all(job)
    except BenchwrightError as error:
        answer = {"error": {"message": error.message, "where": error.where, "remedy": error.remedy}}
    print(json.dumps(answer))


def _say(message: str) -> None:
    print(f"{SAID}{message}", file=sys.stderr, flush=True)


def _compare_all(job: dict[str, Any]) -> dict[str, Any]:
    import datasets

    datasets.disable_progress_bars()
    repository, commit, wanted = job["repository"], job["commit"], job["splits"]
    configs = patiently(
        "reading the configurations", lambda: datasets.get_dataset_config_names(repository, revision=commit), _say
    )
    problems = []
    if sorted(configs) != sorted(wanted):
        problems.append(f"the configurations are {', '.join(configs)}, built were {', '.join(wanted)}")
    splits = []
    for config in (name for name in wanted if name in configs):
        try:
            loaded = patiently(f"loading {config}", partial(_load, repository, config, commit), _say)
        except UnloadableError as error:
            problems.append(error.message)
            continue
        if sorted(loaded) != sorted(wanted[config]):
            problems.append(f"the splits of {config} are {', '.join(loaded)}, built were {', '.join(wanted[config])}")
        for split in (name for name in wanted[config] if name in loaded):
            table = loaded[split].data.table
            problems += _differences(f"{config}/{split}", table, [Path(path) for path in wanted[config][split]])
            splits.append({"config": config, "split": split, "rows": table.num_rows})
    return {"splits": splits, "problems": problems}


def _load(repository: str, config: str, commit: str) -> Any:
    import datasets
    from datasets.exceptions import DatasetGenerationError
    from datasets.utils.info_utils import NonMatchingSplitsSizesError

    # a cache of its own for each attempt: where the connection fails, the library would turn to what was loaded before
    cache = tempfile.mkdtemp(prefix="load-", dir=os.environ["HF_HOME"])
    try:
        return datasets.load_dataset(repository, config, revision=commit, cache_dir=cache)
    except NonMatchingSplitsSizesError as error:
        raise UnloadableError(f"{config}: the card's numbers of rows are not those of the files: {error}") from error
    except DatasetGenerationError as error:
        if isinstance(error.__cause__, OSError):
            raise  # the network: patience decides
        raise UnloadableError(f"{config} cannot be loaded: {error.__cause__ or error}") from error


def _differences(where: str, loaded: pa.Table, paths: list[Path]) -> list[str]:
    """Compare in batches: flat memory, however large the split is. At most one line."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(paths[0])
    if not loaded.schema.equals(schema):
        return [f"{where}: the columns or types differ"]
    row = 0
    for batch in _batches(paths):
        part = loaded.slice(row, batch.num_rows)
        for name in schema.names:
            if not part.column(name).combine_chunks().equals(batch.column(name).combine_chunks()):
                return [f"{where}: column {name} differs between rows {row + 1} and {row + batch.num_rows}"]
        row += batch.num_rows
    return [] if row == loaded.num_rows else [f"{where}: {loaded.num_rows} rows, built were {row}"]


def _batches(paths: list[Path]) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(1000):
                yield pa.Table.from_batches([batch])


if __name__ == "__main__":
    main()
