"""What is shown to a person."""

import pytest

from benchwright.core.progress import Reporter, printable


def test_text_of_others_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Reporter().result({}, ["a\x1b]0;title\x07b\tc\r\x00\x9b"])
    Reporter().table("", ("x",), [("\x1b[2J",)])
    shown = capsys.readouterr().out
    assert "a\\x1b]0;title\\x07b\tc\\x0d\\x00\\x9b" in shown
    assert "\x1b" not in shown


def test_letters_of_every_script_stay_as_they_are() -> None:
    assert printable("ü 海 🎈\n\té") == "ü 海 🎈\n\té"


def test_with_json_the_value_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    Reporter(json=True).result({"text": "\x1b"}, ["ignored"])
    assert capsys.readouterr().out == '{\n  "text": "\\u001b"\n}\n'
