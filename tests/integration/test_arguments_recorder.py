"""Calls recorded by running scripts in real sandboxes, with launchers that only take notes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.validators.arguments import check_arguments, trace_shell
from benchwright.validators.arguments.recorder import Recorder
from benchwright.validators.execution import Runner

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def recorder(request: pytest.FixtureRequest) -> Iterator[Recorder]:
    try:
        with Runner(sandbox=request.param) as runner:
            yield Recorder(runner)
    except BenchwrightError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def words(recorder: Recorder, code: str, **options: str) -> list[tuple[str, ...]]:
    return [(call.target, *call.argv) for call in recorder.record(code, **options).calls]


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("R=$(echo 4)\npython t.py --rounds $R 'a b'", [("t.py", "--rounds", "4", "a b")]),
        ("for s in $(seq 2); do python3 -u t.py --seed $s; done", [("t.py", "--seed", "1"), ("t.py", "--seed", "2")]),
        ("[ -z \"$UNSET\" ] && python yes.py || python no.py", [("yes.py",)]),
        ("printf 'a\\nb\\n' | xargs -n1 python t.py", [("t.py", "a"), ("t.py", "b")]),
        ("while read -r l; do python t.py $l; done <<< 'x y'", [("t.py", "x", "y")]),
        ("torchrun --nproc_per_node 2 t.py --lr $'0.1\\n'", [("t.py", "--lr", "0.1\n")]),
        ("env A=1 nohup timeout 9 python -m pack.run --x 1", [("pack.run", "--x", "1")]),
        ("fairseq-train d --lr 1; not-there --y 2", [("fairseq-train", "d", "--lr", "1"), ("not-there", "--y", "2")]),
        ("false && python no.py; exit 3; python never.py", []),
        ("bash run.sh 1 '2 3'", [("run.sh", "1", "2 3")]),
    ],
)  # fmt: skip
def test_bash_itself_resolves_what_a_script_starts(recorder: Recorder, code: str, calls: list[tuple[str, ...]]) -> None:
    assert words(recorder, code) == calls


def test_folders_and_variables_are_recorded_and_the_preparation_is_not(recorder: Recorder) -> None:
    trace = recorder.record(
        "cd inner && CUDA_VISIBLE_DEVICES=1 python t.py", path="./top", prefix_code="pip install x\npython setup.py"
    )
    (call,) = trace.calls
    assert (call.folder, call.target) == ("top/inner", "t.py")
    assert ("CUDA_VISIBLE_DEVICES", "1") in call.env


def test_the_python_of_an_answer_is_not_run(recorder: Recorder) -> None:
    assert words(recorder, "python -c 'open(\"/tmp/ran\", \"w\")'; [ -e /tmp/ran ] && python ran.py") == [
        ("open(\"/tmp/ran\", \"w\")",)
    ]  # fmt: skip


def test_a_script_that_never_ends_leaves_a_doubt(recorder: Recorder) -> None:
    from benchwright.core.models import Limits

    short = Recorder(recorder._runner, limits=Limits(timeout_s=1, memory_bytes=256 * 1024**2))
    trace = short.record("while :; do :; done; python t.py")
    assert trace.calls == ()
    assert not trace.exact


@pytest.mark.parametrize(
    "code",
    [
        "A=(1 'b c'); python t.py \"${A[@]}\" ${A[0]} \"${A[*]}\"",
        "f() { python t.py \"$1\" \"${2:-z}\"; }; f 'a b'; f x y",
        "X=a.b.c; python t.py ${X%.*} ${X%%.*} ${X#*.} ${X##*.} ${X/./-} ${#X}",
        "python t.py {1..3} x{a,b}y $((7 / 2)) $'\\x41\\t' \"q\\\"r\" 'it'\\''s'",
        "(cd a 2>/dev/null; python in.py); python out.py | cat; { python c.py; }",
        "if [ a = b ]; then python 1.py; elif [ -n x ]; then python 2.py; fi; ! false && python 3.py",
        "case file.txt in *.md) python a.py;; *.txt|*.rst) python b.py;; esac",
        "bash -c 'python t.py \"$0\" $1' 'a b' c; bash -c 'python t.py --in \"$0\"' x; eval \"python t.py '--x y'\"",
        "set -- one two; V='  spaced  words '; python t.py $V \"$V\"",
    ],
)  # fmt: skip
def test_what_is_called_exact_is_what_bash_does(recorder: Recorder, code: str) -> None:
    traced = trace_shell(code)
    if traced.exact:
        assert [(call.target, *call.argv) for call in traced.calls] == words(recorder, code)


def test_a_verdict_may_rest_on_a_recording(recorder: Recorder) -> None:
    code = "python t.py --rounds $(( $(echo 2) * 2 ))"
    assert check_arguments(code, "Bash Script", {"rounds": 4}, recorder=recorder).accepted
    assert not check_arguments(code, "Bash Script", {"rounds": 5}, recorder=recorder).accepted
