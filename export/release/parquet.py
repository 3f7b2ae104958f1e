"""Writing Parquet: one declared schema, memory flat in the number of rows, equal bytes for equal rows.

Settings follow what the Hub recommends (content-defined chunking, a page index) with zstd; the raised dictionary
limit keeps repeated long text small under content-defined chunking.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import BenchwrightError, InfrastructureError
from ..rows import COLUMNS, INTEGERS, PROVENANCE

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ROW_DTYPES", "schema_of", "write_parquet"]

ROW_DTYPES = {name: "int64" if name in INTEGERS else "string" for name in (*COLUMNS, *PROVENANCE)}
"""The declared type of each column of the default configuration, in ``datasets``' words."""

GROUP_ROWS = 10_000
GROUP_BYTES = 64 * 1024**2
"""A row group is closed at whichever comes first; text beyond 2 GiB is thus never in one array."""
DICTIONARY_BYTES = 64 * 1024**2


def schema_of(dtypes: Mapping[str, str], canary: str = "") -> pa.Schema:
    """The Arrow schema with the metadata by which ``datasets`` knows the types again, and the canary."""
    import pyarrow as pa

    features = {name: {"dtype": dtype, "_type": "Value"} for name, dtype in dtypes.items()}
    types = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "string": pa.string(),
        "large_string": pa.large_string(),
    }
    if unknown := sorted({dtype for dtype in dtypes.values() if dtype not in types}):
        raise BenchwrightError(f"a release has no columns of type {', '.join(unknown)}", where="dataset_info")
    return pa.schema(
        [(name, types[dtype]) for name, dtype in dtypes.items()],
        metadata={
            "huggingface": json.dumps({"info": {"features": features}}),
            **({"canary": f"canary GUID {canary}"} if canary else {}),
        },
    )


def write_parquet(
    path: Path, dtypes: Mapping[str, str], rows: Iterable[Mapping[str, Any]], canary: str = ""
) -> tuple[int, int]:
    """Write ``rows`` and give ``(number of rows, bytes of their values in memory)``.

    Raises:
        BenchwrightError: a value is not of its column's type, or no UTF-8 text (row and column are named).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = schema_of(dtypes, canary)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = size = 0
    with (
        _told(path),
        pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            write_page_index=True,
            use_content_defined_chunking=True,
            dictionary_pagesize_limit=DICTIONARY_BYTES,
        ) as writer,
    ):
        for group in _groups(rows):
            try:
                table = pa.Table.from_pylist(group, schema=schema)
            except (pa.ArrowException, UnicodeEncodeError, OverflowError, TypeError) as error:
                raise _misfit(path, schema, group, count, error) from error
            writer.write_table(table, row_group_size=len(group))
            count += len(group)
            size += table.nbytes
    return count, size


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Arrow's own errors of writing name neither the file nor the way out."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"cannot write the file: {error.strerror or error}",
            where=f"{path.parent.name}/{path.name}",
            remedy="free space or permit writing",
        ) from error


def _groups(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    group: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str) and len(value) > 1024)
        if len(group) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _misfit(
    path: Path, schema: pa.Schema, group: list[Mapping[str, Any]], before: int, error: Exception
) -> BenchwrightError:
    """The error that names the first value which cannot be stored."""
    import pyarrow as pa

    for number, row in enumerate(group, before + 1):
        for field in schema:
            try:
                pa.array([row.get(field.name)], type=field.type)
            except (pa.ArrowException, UnicodeEncodeError, OverflowError, TypeError) as reason:
                return BenchwrightError(
                    f"the column {field.name} cannot hold this value: {reason}",
                    where=f"{path.parent.name}/{path.name} row {number} "
                    f"(example {row.get('github_id')}/{row.get('id')})",
                    remedy="correct it in tasks/ (benchwright check names the file)",
                )
    return BenchwrightError(f"the rows do not fit the declared schema: {error}", where=path.name)
