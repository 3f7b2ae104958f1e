"""What publishing decides without a Hub: which failures are waited for, what a folder must be, what is compared."""

from __future__ import annotations

import hashlib
import subprocess
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError, InfrastructureError, PrerequisiteError
from benchwright.export.checksums import write_sums
from benchwright.export.hub import patience
from benchwright.export.hub.client import RemoteFile, difference
from benchwright.export.hub.folder import LocalFile, read_release
from benchwright.export.hub.patience import hinted_wait, patiently, redacted, settle_for_waiting
from benchwright.export.hub.plan import _may_write
from benchwright.export.hub.readback import _differences
from benchwright.export.hub.yank import _with_notice, _with_sum

CARD = """---
configs:
- config_name: default
  data_files:
  - split: full
    path: data/full-*.parquet
---

# Pocket
"""


def answer(status: int, headers: dict[str, str] | None = None) -> Exception:
    """The client library's error for this status, made by the library itself."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils._http import hf_raise_for_status

    httpx = patience._http_client()
    request = httpx.Request("POST", "http://127.0.0.1/api/datasets/o/n/commit/main?signature=secret")
    with pytest.raises(HfHubHTTPError) as caught:
        hf_raise_for_status(httpx.Response(status, headers=headers or {}, request=request))
    return caught.value


def test_the_servers_hint_decides_how_long_is_waited() -> None:
    assert hinted_wait({"RateLimit": '"api";r=0;t=55'}) == 56
    assert hinted_wait({"RateLimit": '"api";r=12;t=55', "Retry-After": "7"}) == 7
    assert hinted_wait({"retry-after": "120"}) == 120
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90))
    assert 80 < (hinted_wait({"Retry-After": later}) or 0) <= 90
    assert hinted_wait({}) is None
    assert hinted_wait({"Retry-After": "soon"}) is None


def test_only_what_passes_by_itself_is_waited_for_and_not_for_ever() -> None:
    assert settle_for_waiting(answer(429, {"Retry-After": "9"}), 1) == 9
    assert [settle_for_waiting(answer(503), attempt) for attempt in (1, 2, 3)] == [1, 2, 4]
    assert settle_for_waiting(answer(429, {"Retry-After": "3600"}), 1) is None
    assert settle_for_waiting(answer(500), patience.ATTEMPTS) is None
    for status in (400, 401, 403, 404, 409, 412):
        assert settle_for_waiting(answer(status), 1) is None
    assert settle_for_waiting(answer(412), 1, patience.TRANSIENT | patience.CONFLICTS) == 1
    assert settle_for_waiting(ConnectionResetError("gone"), 1) == 1
    assert settle_for_waiting(KeyError("a fault of ours"), 1) is None


def test_a_failure_that_passes_is_repeated_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(patience.time, "sleep", waits.append)
    failures = [answer(503), answer(429, {"Retry-After": "5"}), ConnectionResetError("gone")]
    said: list[str] = []

    def call() -> str:
        if failures:
            raise failures.pop(0)
        return "done"

    assert patiently("tagging", call, said.append) == "done"
    assert waits == [1, 5, 4]
    assert said[0] == "tagging: the Hub answered 503; trying again in 1 s (1 of 6)"


def test_a_refusal_says_who_refused_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted")

    def refused() -> None:
        raise answer(403, {"X-Error-Message": "token hf_planted may not"})

    with pytest.raises(PrerequisiteError) as caught:
        patiently("merging", refused, lambda _: None)
    text = str(caught.value)
    assert "merging: the Hub answered 403" in text
    assert "hf_planted" not in text
    assert "signature" not in text
    assert "write access" in text
    monkeypatch.setattr(patience.time, "sleep", lambda _: None)

    def down() -> None:
        raise answer(500)

    with pytest.raises(InfrastructureError, match="continues where it stood"):
        patiently("merging", down, lambda _: None)


def test_tokens_are_taken_out_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_one")
    monkeypatch.setenv("HF_OIDC_ID_TOKEN", "ey.two")
    assert redacted("sent hf_one and ey.two") == "sent [token] and [token]"


def test_a_files_identity_is_the_one_git_gives_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"some bytes\n" * 1000)
    local = LocalFile(path, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
    git = subprocess.run(["git", "hash-object", "--no-filters", str(path)], capture_output=True, text=True, check=True)
    assert local.blob_id == git.stdout.strip()
    assert RemoteFile(local.size, local.blob_id, None).holds(local)
    assert RemoteFile(local.size, "pointer", local.sha256).holds(local)
    assert not RemoteFile(local.size, local.blob_id, "0" * 64).holds(local)
    assert not RemoteFile(local.size + 1, local.blob_id, None).holds(local)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = tmp_path / "release"
    (root / "data").mkdir(parents=True)
    table = pa.table({"id": pa.array([1, None, 3], pa.int64()), "text": pa.array(["a", "", None], pa.large_string())})
    pq.write_table(table, root / "data" / "full-00000-of-00001.parquet")
    (root / "README.md").write_text(CARD)
    (root / "CITATION.cff").write_text("version: 1.2.0\n")
    write_sums(root)
    return root


def test_the_difference_leaves_the_hubs_own_files_alone(folder: Path) -> None:
    release = read_release(folder, "1.2.0")
    there = {path: RemoteFile(file.size, file.blob_id, None) for path, file in release.files.items()}
    other = RemoteFile(1, "0" * 40, None)
    assert not difference({**there, ".gitattributes": other, "YANKED.md": other}, release)
    del there["CITATION.cff"]
    found = difference({**there, "README.md": other, "old/full.parquet": other}, release)
    assert (found.added, found.changed, found.removed) == (("CITATION.cff",), ("README.md",), ("old/full.parquet",))
    assert str(found) == "missing: CITATION.cff; different: README.md; left over: old/full.parquet"


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda root: (root / "more.txt").write_text("x"), "more.txt"),
        (lambda root: (root / "README.md").write_text("x"), "changed after"),
        (lambda root: (root / "CITATION.cff").unlink(), "no file of this folder"),
        (lambda root: (root / "SHA256SUMS").write_text(f"{'0' * 64}  ../outside\n"), "no file of this folder"),
        (lambda root: (root / "SHA256SUMS").write_text("nonsense\n"), "not a line"),
        (lambda root: (root / "SHA256SUMS").unlink(), "no release"),
    ],
)
def test_a_folder_that_is_not_as_it_was_built_is_refused(folder: Path, spoil: object, says: str) -> None:
    spoil(folder)  # type: ignore[operator]
    with pytest.raises(BenchwrightError, match=says):
        read_release(folder, "1.2.0")


def test_a_folder_of_another_version_or_with_a_stray_data_file_is_refused(folder: Path) -> None:
    with pytest.raises(BenchwrightError, match=r"holds version 1\.2\.0, the workspace says 1\.3\.0"):
        read_release(folder, "1.3.0")
    with pytest.raises(BenchwrightError, match="no version"):
        read_release(folder, "one")
    (folder / "data" / "stray.parquet").write_bytes((folder / "data" / "full-00000-of-00001.parquet").read_bytes())
    write_sums(folder)
    with pytest.raises(BenchwrightError, match="exactly one split"):
        read_release(folder, "1.2.0")


def test_values_are_compared_not_only_counts(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "data" / "full-00000-of-00001.parquet"
    table = pq.read_table(path)
    assert _differences("default/full", table, [path]) == []
    other = table.set_column(0, table.schema.field(0), pa.array([1, 2, 3], pa.int64()))
    assert _differences("default/full", other, [path]) == ["default/full: column id differs between rows 1 and 3"]
    assert _differences("default/full", table.slice(0, 2), [path])[0].startswith("default/full: column id differs")
    assert _differences("default/full", pa.concat_tables([table, table]), [path]) == [
        "default/full: 6 rows, built were 3"
    ]
    assert (
        "types differ"
        in _differences("default/full", table.cast(pa.schema({"id": pa.int32(), "text": pa.string()})), [path])[0]
    )


def test_a_fine_grained_token_must_name_the_dataset_or_its_owner() -> None:
    def token(name: str, *permissions: str) -> dict[str, object]:
        return {"fineGrained": {"scoped": [{"entity": {"name": name}, "permissions": list(permissions)}]}}

    assert _may_write({}, "lab/pocket")
    assert _may_write(token("lab", "repo.write"), "lab/pocket")
    assert _may_write(token("lab/pocket", "repo.content.read", "repo.write"), "lab/pocket")
    assert not _may_write(token("lab/pocket", "repo.content.read"), "lab/pocket")
    assert not _may_write(token("other", "repo.write"), "lab/pocket")


def test_a_withdrawn_versions_card_says_so_and_its_checksum_follows() -> None:
    card = _with_notice(CARD, "v1.0.0", "row 3 is wrong")
    assert card.startswith(CARD[: CARD.index("# Pocket") - 1])
    assert "> **v1.0.0 is withdrawn:** row 3 is wrong." in card
    sums = _with_sum(f"{'0' * 64}  README.md\n{'1' * 64}  data/README.md\n", "README.md", card)
    assert sums.splitlines() == [
        f"{hashlib.sha256(card.encode()).hexdigest()}  README.md",
        f"{'1' * 64}  data/README.md",
    ]
