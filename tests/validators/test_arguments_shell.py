"""What bash would start, followed without running it."""

from __future__ import annotations

import pytest

from benchwright.validators.arguments import trace_shell


def started(text: str, **options: object) -> list[tuple[str, ...]]:
    return [(call.target, *call.argv) for call in trace_shell(text, **options).calls]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("python t.py --a 'x y' --b \"p \\$Q\"", ("t.py", "--a", "x y", "--b", "p $Q")),
        ("bash -c 'python t.py $0 $1' a b", ("t.py", "a", "b")),
        ("set -- a 'b c'; python t.py $# \"$2\"", ("t.py", "2", "b c")),
        ("N=3; python t.py --n=$N --m ${N}0 ${MISSING:-7}", ("t.py", "--n=3", "--m", "30", "7")),
        ("python t.py \\\n  --lr 0.1 \\\n  --go", ("t.py", "--lr", "0.1", "--go")),
        ("args=(--lr 1 --tag 'a b')\npython t.py \"${args[@]}\"", ("t.py", "--lr", "1", "--tag", "a b")),
        ("args=(--lr 1); args+=(--go); python t.py ${args[@]}", ("t.py", "--lr", "1", "--go")),
        ("A='x y'; python t.py $A \"$A\"", ("t.py", "x", "y", "x y")),
        ("python t.py --n $((2 * 8 + 1)) $'tab\\there'", ("t.py", "--n", "17", "tab\there")),
        ("F=runs/a.tgz; python t.py ${F##*/} ${F%.tgz} ${F/runs/out}", ("t.py", "a.tgz", "runs/a", "out/a.tgz")),
        ("python t.py --to {a,b}{1..2}", ("t.py", "--to", "a1", "a2", "b1", "b2")),
        ("run() { python t.py \"$@\" --last \"$2\"; }; run 1 'b c'", ("t.py", "1", "b c", "--last", "b c")),
        ("python t.py --a 1 > log 2>&1 --b 2", ("t.py", "--a", "1", "--b", "2")),
        ("python t.py # --a 1", ("t.py",)),
        ("python t.py --empty ''", ("t.py", "--empty", "")),
        ("bash -c 'python t.py --x 1'", ("t.py", "--x", "1")),
        ("eval python t.py '--x 1'", ("t.py", "--x", "1")),
        ("bash <<'END'\npython t.py --x 1\nEND", ("t.py", "--x", "1")),
    ],
)  # fmt: skip
def test_words_reach_the_program_as_bash_hands_them_over(text: str, words: tuple[str, ...]) -> None:
    assert started(text) == [words]
    assert trace_shell(text).exact


@pytest.mark.parametrize(
    "text",
    [
        "false && python t.py",
        "true || python t.py",
        "# python t.py",
        "echo python t.py",
        "cat <<END > notes\npython t.py\nEND",
        "if false; then python t.py; fi",
        "if [ 1 -eq 2 ]; then python t.py; fi",
        "while false; do python t.py; done",
        "case b in a) python t.py;; esac",
        "exit 0\npython t.py",
        "set -e\nfalse\npython t.py",
        "unused() { python t.py; }",
        "NOTE='python t.py'",
        ": python t.py",
    ],
)
def test_what_is_not_reached_is_not_started(text: str) -> None:
    assert started(text) == []
    assert trace_shell(text).exact


def test_branches_that_are_decided_are_taken() -> None:
    text = "M=b\nif [ $M = a ]; then python a.py; elif [[ $M == b* ]]; then python b.py; else python c.py; fi"
    assert started(text) == [("b.py",)]


def test_loops_over_lists_are_followed_turn_by_turn() -> None:
    assert started("for s in 1 2; do for m in a b; do python t.py $s $m; done; done") == [
        ("t.py", "1", "a"), ("t.py", "1", "b"), ("t.py", "2", "a"), ("t.py", "2", "b"),
    ]  # fmt: skip


def test_folders_are_followed_and_a_subshell_comes_back() -> None:
    trace = trace_shell("cd a && (cd b; python in.py); python out.py; cd ..; python up.py", folder="top")
    assert [(call.folder, call.target) for call in trace.calls] == [
        ("top/a/b", "in.py"), ("top/a", "out.py"), ("top", "up.py"),
    ]  # fmt: skip


def test_launchers_keep_their_own_options() -> None:
    (call,) = trace_shell("CUDA_VISIBLE_DEVICES=1 nohup torchrun --nproc_per_node 2 t.py --lr 1 &").calls
    assert (call.target, call.argv) == ("t.py", ("--lr", "1"))
    assert call.env == (("CUDA_VISIBLE_DEVICES", "1"),)
    assert "--nproc_per_node" in call.launcher


@pytest.mark.parametrize(
    "text",
    [
        "python t.py --n $(nproc)",
        "python t.py --home $HOME",
        "python t.py --me $0",
        "for f in *.yaml; do python t.py $f; done",
        "[ -f x ] && python t.py",
        "ls | xargs python t.py",
        "while read line; do python t.py $line; done < list",
        "for ((i = 0; i < 3; i++)); do python t.py $i; done",
    ],
)
def test_what_only_running_it_would_tell_is_a_doubt(text: str) -> None:
    assert not trace_shell(text).exact


def test_a_doubt_that_touches_no_call_is_none() -> None:
    assert trace_shell('cd "$(dirname "$0")"; STAMP=$(date)\npython t.py --lr 1').exact


def test_arguments_of_a_script_are_its_numbered_variables() -> None:
    assert started('python t.py --task $1 "$@" $#', arguments=["qa", "7"]) == [("t.py", "--task", "qa", "qa", "7", "2")]


@pytest.mark.parametrize("text", ["", "'", "$(", "if then", "\0", "a" * 10_000, "((((", "<<<", "for", "${x[", "é|&;"])
def test_no_text_makes_it_fail(text: str) -> None:
    trace_shell(text)
