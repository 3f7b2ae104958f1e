"""Files that a kill at any moment leaves whole."""

import os
from pathlib import Path

import pytest

from benchwright.core.errors import BenchwrightError, InfrastructureError
from benchwright.core.files import (
    append_lines,
    atomic_write,
    canonical_json,
    digest_of,
    read_json_lines,
    staged_directory,
)


def test_a_write_that_fails_leaves_the_old_content_and_no_litter(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    atomic_write(target, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(target, "\ud800")
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_text_is_written_byte_for_byte(tmp_path: Path) -> None:
    atomic_write(tmp_path / "text", "a\r\nb\tü海\n")
    assert (tmp_path / "text").read_bytes() == "a\r\nb\tü海\n".encode()


def test_a_full_disk_is_an_infrastructure_error_that_names_the_file() -> None:
    with pytest.raises(InfrastructureError) as caught:
        atomic_write(Path("/dev/full/file"), "x")
    assert caught.value.where == "/dev/full/file"


def test_a_torn_last_line_does_not_spoil_the_next_one(tmp_path: Path) -> None:
    archive = tmp_path / "archive.jsonl"
    archive.write_text('{"a":1}\n{"b":')
    append_lines(archive, ['{"c":3}'])
    assert archive.read_text().splitlines() == ['{"a":1}', '{"b":', '{"c":3}']


def test_a_line_that_is_no_json_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a":1}\n\n\xff\n')
    with pytest.raises(BenchwrightError) as caught:
        list(read_json_lines(path))
    assert caught.value.where == f"{path}:3"


def test_a_staged_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "release"
    with staged_directory(target) as staging:
        (staging / "one").write_text("1")
    with pytest.raises(RuntimeError), staged_directory(target) as staging:
        (staging / "two").write_text("2")
        raise RuntimeError
    assert [path.name for path in tmp_path.rglob("*")] == ["release", "one"]


def test_equal_values_have_equal_digests_whatever_the_order_of_their_keys() -> None:
    assert digest_of({"a": 1, "b": [None, "ü"]}) == digest_of({"b": [None, "ü"], "a": 1})
    assert canonical_json({"b": 1, "a": "ü"}) == '{"a":"ü","b":1}'


def test_a_device_and_a_link_are_written_through_not_replaced(tmp_path: Path) -> None:
    pipe, target, link = tmp_path / "pipe", tmp_path / "target", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(target)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_write(pipe, "through")
    atomic_write(link, "linked")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (pipe.is_fifo(), link.is_symlink(), target.read_text()) == (True, True, "linked")
    with pytest.raises(InfrastructureError, match="No space left"):
        atomic_write(Path("/dev/full"), "x")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("line", ["[" * 100_000, '{"n": ' + "9" * 5000 + "}", '{"n": NaN}', '{"n": -Infinity}', "[1]"])
def test_a_line_that_only_some_readers_take_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f"{{}}\n{line}\n")
    with pytest.raises(BenchwrightError) as caught:
        list(read_json_lines(path))
    assert caught.value.where == f"{path}:2"


def test_a_torn_last_line_of_an_archive_is_left_out_and_a_torn_line_within_is_not(tmp_path: Path) -> None:
    path = tmp_path / "archive.jsonl"
    path.write_text('{"a":1}\n{"b":')
    assert [fields for _, fields in read_json_lines(path, torn=True)] == [{"a": 1}]
    path.write_text('{"b":\n{"a":1}\n')
    with pytest.raises(BenchwrightError):
        list(read_json_lines(path, torn=True))
