"""Commands, read statically: what runs, where, with what, and what only prepares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchwright.curation.commands import commands_in, invocation_of, read_shell, read_snippet, role_of
from benchwright.curation.commands.words import is_placeholder


def tasks(text: str, language: str = "shell", tag: str = "") -> list[str]:
    reading = commands_in(text, language, tag=tag)
    return [c.text for c in reading.commands if role_of(c, invocation_of(c.argv, c.static)) == "task"]


def test_folders_follow_cd_subshells_and_pipes() -> None:
    reading = read_shell(
        "cd a && python one.py | tee x\npython two.py\n(cd b; python three.py)\npushd c\npython four.py\npopd\n"
        "cd ..\npython five.py\ncd /abs && python six.py\ncd $HOME/z; python seven.py\n"
    )
    found = {command.argv[1]: command.cwd for command in reading.commands if command.program == "python"}
    assert found == {
        "one.py": "a",
        "two.py": "a",
        "three.py": "a/b",
        "four.py": "a/c",
        "five.py": "",
        "six.py": "/abs",
        "seven.py": "?$HOME/z",
    }


def test_here_documents_hold_no_commands() -> None:
    text = "cat > x <<END; python a.py\npython no.py\nEND\npython c.py <<< 'python no2.py'\n"
    found = [command.argv[1:2] for command in read_shell(text).commands if command.program == "python"]
    assert ("a.py",) in found
    assert ("no.py",) not in found


def test_words_are_those_the_program_gets() -> None:
    (command,) = read_shell(
        'A=1 python x.py "a b" \'c"d\' e\\ f --k=\'v w\' "" $\'t\' -- "$V" "x${W}y" `date` > out 2>&1 --late &\n'
    ).commands[:1]
    assert command.argv == (
        *("python", "x.py", "a b", 'c"d', "e f", "--k=v w", "", "t", "--", "$V", "x${W}y", "`date`", "--late"),
    )
    assert [word for word, known in zip(command.argv, command.static, strict=True) if not known] == [
        "$V",
        "x${W}y",
        "`date`",
    ]
    assert command.env == (("A", "1"),)
    assert command.background
    assert command.redirected


def test_placeholders_are_words_not_redirections() -> None:
    (command,) = read_shell("python x.py <input file> --name [YOUR NAME] --to <out> -k {some key}\n").commands
    assert command.argv == (
        "python",
        "x.py",
        "<input file>",
        "--name",
        "[YOUR NAME]",
        "--to",
        "<out>",
        "-k",
        "{some key}",
    )
    (command,) = read_shell("python x.py < in.txt > out.txt\n").commands
    assert command.argv == ("python", "x.py")


@pytest.mark.parametrize(
    "word", ["<path>", "/path/to/x", "[MODEL NAME]", "${your_id_here}", "path/to/data", "YOUR_KEY"]
)
def test_what_the_reader_fills_in_is_recognised(word: str) -> None:
    assert is_placeholder(word)


@pytest.mark.parametrize("word", ["0.1", "data/x.csv", "--lr", "[0,1]", "imagenet", "$DATA", "[1, 2]"])
def test_plain_values_are_no_placeholders(word: str) -> None:
    assert not is_placeholder(word)


def test_continuations_may_have_blanks_and_comments_behind_them() -> None:
    (command,) = read_shell("python x.py \\   \n  --a 1 \\  # the first\n  --b 2\n").commands
    assert command.argv == ("python", "x.py", "--a", "1", "--b", "2")
    assert (command.start_line, command.end_line) == (1, 3)


def test_one_unreadable_line_does_not_lose_the_others() -> None:
    reading = read_shell("python a.py --x 1\nif [ then fi ((\npython b.py\n")
    assert [c.argv[1] for c in reading.commands if c.program == "python"] == ["a.py", "b.py"]
    assert reading.notes


def test_loops_are_followed_in_scripts_and_marked_in_documents() -> None:
    inner = 'python r.py --seed $s --data $d --out "$1/${name}_$s"'
    text = f"name=net\nfor s in 1 2; do\n  for d in {{a,b}}; do {inner}; done\ndone\n"
    (marked,) = [c for c in read_shell(text).commands if c.program == "python"]
    assert marked.loop == (("s", "1"), ("d", "a"))
    assert marked.argv[3] == "$s"
    turns = [
        c.argv[2:] for c in read_shell(text, variables={"1": "runs"}, unroll=True).commands if c.program == "python"
    ]
    assert turns == [("--seed", s, "--data", d, "--out", f"runs/net_{s}") for s in ("1", "2") for d in ("a", "b")]


def test_in_a_session_only_what_was_typed_is_a_command() -> None:
    text = "$ cd bird\n(env) me@box:~/bird$ python fly.py \\\n>   --high 3\nup 3\n$HOME is not set\n% ./down.sh\nno\n"
    assert tasks(text, "console", "console") == ["python fly.py --high 3", "./down.sh"]
    assert tasks("$ python a.py\nloss 1\npython b.py\n", "console", "bash") == ["python a.py", "python b.py"]


def test_a_notebook_cell_has_commands_behind_its_marks() -> None:
    assert tasks("import x\n!python a.py --k 1\n%cd b\n%run c.py\n", "ipython") == ["python a.py --k 1", "c.py"]


@pytest.mark.parametrize(
    ("line", "kind", "target", "args"),
    [
        ("python -u a.py --x", "file", "a.py", ("--x",)),
        ("python3.11 -m pkg.mod --x", "module", "pkg.mod", ("--x",)),
        ("python -W ignore -X dev a.py", "file", "a.py", ()),
        ("python -m torch.distributed.run --nnodes 2 --rdzv_id=1 a.py --x 1", "file", "a.py", ("--x", "1")),
        ("torchrun --standalone --nproc_per_node gpu -m pkg.mod --x", "module", "pkg.mod", ("--x",)),
        ("accelerate launch --config_file c.yaml --unknown 3 a.py --x", "file", "a.py", ("--x",)),
        ("deepspeed --include localhost:0,1 a.py --deepspeed ds.json", "file", "a.py", ("--deepspeed", "ds.json")),
        ("A=1 sudo -u me env B=2 timeout -s KILL 10 python a.py", "file", "a.py", ()),
        ("srun -p gpu --gres=gpu:1 bash run.sh 3", "file", "run.sh", ("3",)),
        ("mpirun -np 4 -x PATH python a.py", "file", "a.py", ()),
        ("poetry run python a.py", "file", "a.py", ()),
        ("uv run --with rich -m pkg --x", "module", "pkg", ("--x",)),
        ("streamlit run app.py --server.port 1", "file", "app.py", ("--server.port", "1")),
        ("bash -x ./run.sh a b", "file", "./run.sh", ("a", "b")),
        ("./run.py --x", "file", "./run.py", ("--x",)),
        ("fly --high", "program", "fly", ("--high",)),
        ("python -c 'print(1)'", "code", "print(1)", ()),
    ],
)
def test_launchers_are_told_from_what_they_launch(line: str, kind: str, target: str, args: tuple[str, ...]) -> None:
    (command,) = read_shell(line).commands
    found = invocation_of(command.argv, command.static)
    assert found is not None
    assert (found.kind, found.target, found.args) == (kind, target, args)


@pytest.mark.parametrize("line", ["python", "", "nohup", "python -m", "torchrun --nproc_per_node 2"])
def test_what_starts_nothing_is_no_invocation(line: str) -> None:
    assert [invocation_of(command.argv) for command in read_shell(line).commands] in ([], [None])


@pytest.mark.parametrize(
    ("line", "role"),
    [
        ("pip install -r requirements.txt", "setup"),
        ("python -m pip install x", "setup"),
        ("python setup.py develop", "setup"),
        ("wget https://example.org/x.zip", "setup"),
        ("bash download_data.sh", "setup"),
        ("python scripts/get_weights.py", "setup"),
        ("export A=1", "setup"),
        ("ls -l", "other"),
        ("python prepare_data.py", "task"),
        ("python -m pkg.train", "task"),
        ("sh run.sh", "task"),
    ],
)
def test_what_prepares_is_told_from_what_does_the_work(line: str, role: str) -> None:
    (command,) = read_shell(line).commands
    assert role_of(command, invocation_of(command.argv)) == role


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("{ ", " };"), ("if true; then ", "fi;")])
def test_a_block_nested_too_deeply_is_said_to_be_unreadable(opening: str, closing: str) -> None:
    reading = read_shell(opening * 5000 + "python a.py;" + closing * 5000, cwd="docs")
    assert (reading.commands, reading.cwd) == ((), "docs")
    assert "could not be read" in reading.notes[0]


def test_a_snippet_says_what_it_imports_and_calls() -> None:
    snippet = read_snippet(
        "import torch as t\nfrom bird.wing import Wing, tail as T\nw = Wing(3, span=(1, 2))\nT()\nprint(undefined)\n"
    )
    assert [item.dotted for item in snippet.imports] == ["torch", "bird.wing.Wing", "bird.wing.tail"]
    assert [(call.callee, call.positional, call.keywords) for call in snippet.calls] == [
        ("bird.wing.Wing", ("3",), (("span", "(1, 2)"),)),
        ("bird.wing.tail", (), ()),
    ]
    assert snippet.unbound == ("undefined",)


def test_spelling_does_not_change_a_snippets_normal_form() -> None:
    one = read_snippet("import a\n\nx = a.f( 1,2 )  # note\n")
    two = read_snippet("# title\nimport a\nx = a.f(1, 2)\n")
    assert one.normal == two.normal


def test_broken_code_still_tells_its_imports() -> None:
    snippet = read_snippet("from bird import (Wing,\n    Tail as T)\nimport sky.blue as b, sea\nx = = 3\n")
    assert not snippet.parses
    assert [item.dotted for item in snippet.imports] == ["bird.Wing", "bird.Tail", "sky.blue", "sea"]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab \n\\\"'$`(){}[]<>|&;#=-./é\t", max_size=80))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for command in read_shell(text, first_line=5).commands:
        assert len(command.argv) == len(command.static)
        assert 5 <= command.start_line <= command.end_line <= 5 + text.count("\n")
        invocation_of(command.argv, command.static)
    read_shell(text, unroll=True)
    read_snippet(text)
