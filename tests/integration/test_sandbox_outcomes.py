"""Unpleasant scripts of our own, each on every real sandbox: the right outcome, nothing escapes, nothing stays."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchwright.core.errors import PrerequisiteError
from benchwright.core.models import Limits, Outcome, OutcomeKind, Success
from benchwright.validators.environments import open_system
from benchwright.validators.outcomes import judge
from benchwright.validators.sandbox import Run, Sandbox, open_sandbox

pytestmark = pytest.mark.integration

Execute = Callable[..., Outcome]
CASES = Path(__file__).parents[3] / "shared" / "cases"


@pytest.fixture(scope="module", params=["docker", "bubblewrap"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        opened = open_sandbox(request.param)
    except PrerequisiteError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    with opened:
        probe = Run(open_system(None, "standard"), b"true", "bash", Limits())
        assert opened.execute(probe).finished  # the image is made now, so that no test's clock sees it
        yield opened


@pytest.fixture
def execute(sandbox: Sandbox) -> Execute:
    def run(script: str | bytes, interpreter: str = "bash", tree: Path | None = None, **changes: object) -> Outcome:
        fields: dict[str, object] = {"timeout_s": 20, "memory_bytes": 256 << 20, "disk_bytes": 128 << 20}
        variables = changes.pop("variables", {})
        folder = changes.pop("folder", "./")
        success = Success.model_validate(changes.pop("success", {}))
        limits = Limits.model_validate(fields | changes)
        data = script.encode() if isinstance(script, str) else script
        item = Run(
            system=open_system(None, "standard"), script=data, interpreter=interpreter, limits=limits,  # type: ignore[arg-type]
            tree=tree, variables=variables, success=success, folder=folder,  # type: ignore[arg-type]
        )  # fmt: skip
        return judge(sandbox.execute(item), item, sandbox.name)

    return run


def python(code: str) -> str:
    return f"python3 - <<'END'\n{code}\nEND\n"


# time --------------------------------------------------------------------------------------------------------


def test_a_timeout_is_never_a_pass(execute: Execute) -> None:
    began = time.monotonic()
    outcome = execute("echo begun; while true; do sleep 0.2; done", timeout_s=1.5)
    assert outcome.outcome is OutcomeKind.TIMED_OUT
    assert outcome.output.head == "begun\n"
    assert 1.5 <= outcome.duration_s < 3
    assert time.monotonic() - began < 6


def test_a_script_that_ignores_signals_is_ended_all_the_same(execute: Execute) -> None:
    outcome = execute("trap '' TERM INT HUP; while :; do :; done", timeout_s=1)
    assert outcome.outcome is OutcomeKind.TIMED_OUT


def test_a_script_that_stops_itself_times_out(execute: Execute) -> None:
    assert execute("kill -STOP $$", timeout_s=1).outcome is OutcomeKind.TIMED_OUT


@pytest.mark.parametrize("code", [1, 3, 124, 126, 137, 143, 255])
def test_an_exit_code_is_the_scripts_own(execute: Execute, code: int) -> None:
    outcome = execute(f"echo KeyboardInterrupt; exit {code}")
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, code)


def test_a_script_ended_by_a_signal_is_named_so(execute: Execute) -> None:
    outcome = execute("kill -SEGV $$")
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, 139)
    assert "SIGSEGV" in outcome.detail


# statuses that a script hides ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "python3 absent.py --lr 1 ; true",
        "python3 absent.py || true",
        "python3 absent.py | cat",
        "(python3 absent.py; exit 0)",
        "! python3 absent.py",
        "if python3 absent.py; then :; fi",
        "x=$(python absent.py); true",
        "/usr/bin/python3 absent.py; true",
        "env -i /usr/bin/python3 absent.py; true",
        "echo absent.py | xargs python3; true",
        "nohup python3 absent.py >log 2>&1; true",
        "timeout 0.2 python3 -c 'import time; time.sleep(9)' || true",
        "python3 -c 'import os; os.abort()'; true",
        "python3 -c 'raise SystemExit(2)' & wait; true",
        "trap 'exit 0' EXIT; set -e; python3 absent.py",
        "sh -c 'python3 absent.py; true'; true",
        "printf '#!/usr/bin/env python3\\nexit(4)\\n' >tool; chmod +x tool; ./tool; true",
        "set +e; python3 absent.py; set -e; true",
        "trap : ERR; python3 absent.py; exit 0",
        "trap 'python3 absent.py' EXIT; exit 0",
        "find . -maxdepth 0 -exec python3 absent.py \\;",
        "cd /tmp && find work -maxdepth 0 -exec sh -c 'python3 absent.py' \\; ; true",
        "echo a b | xargs -n 1 sh -c 'python3 absent.py; true'",
        "timeout 9 python3 absent.py; exit 0",
        "timeout 9 sh -c 'python3 absent.py; exit 0'",
        "(exec python3 absent.py) || :",
        "sh -c 'exec python3 absent.py' & wait $! || true",
        "python3 absent.py & wait",
        "setsid -w python3 absent.py; true",
        "echo `python3 absent.py` >/dev/null",
        "f() { python3 absent.py; return 0; }; f",
        "cat <(python3 absent.py)",
        "for n in 1 2; do python3 absent.py && break; done; echo",
        "case $(python3 absent.py) in *) ;; esac",
        "python3 -c 'import os; os._exit(9)' 2>/dev/null | tee log; true",
        "eval 'python3 absent.py; :'",
        "bash -c 'python3 absent.py' -e; true",
        "coproc python3 absent.py; wait; true",
        "python3 - <<'END' || true\nraise SystemExit('no')\nEND",
        "cp /bin/sh mysh; ./mysh -c 'python3 absent.py'; true",
        "python3 -c 'import os; os.kill(os.getpid(), 9)'; true",
    ],
)
def test_a_hidden_failure_is_a_failure(execute: Execute, line: str) -> None:
    outcome = execute(line)
    assert outcome.outcome is OutcomeKind.FAILED
    assert outcome.exit_code
    assert outcome.shell_exit_code == 0


def test_a_command_that_is_not_there_is_no_success(execute: Execute) -> None:
    outcome = execute("no-such-trainer --epochs 3 || true")
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, 127)


def test_an_entry_point_sent_to_the_background_is_no_success(execute: Execute) -> None:
    outcome = execute("python3 -c 'import time; time.sleep(30)' & exit 0")
    assert outcome.outcome is OutcomeKind.FAILED
    assert "still running" in outcome.detail


def test_what_an_entry_point_starts_is_its_own_affair(execute: Execute) -> None:
    outcome = execute("import subprocess; subprocess.run(['python3', '-c', 'exit(5)'])", "python3")
    assert outcome.outcome is OutcomeKind.PASSED


def test_an_entry_point_that_fails_on_what_it_started_hides_nothing_by_it(execute: Execute) -> None:
    code = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, 'absent.py']).returncode)"
    outcome = execute(f'python3 -c "{code}"; true')
    assert (outcome.outcome, outcome.exit_code, outcome.shell_exit_code) == (OutcomeKind.FAILED, 2, 0)


def test_a_program_put_in_the_shells_place_gives_its_own_status(execute: Execute) -> None:
    outcome = execute("exec python3 -c 'raise SystemExit(8)'; true")
    assert (outcome.outcome, outcome.exit_code, outcome.shell_exit_code) == (OutcomeKind.FAILED, 8, 8)


def test_success_that_is_only_printed_is_none(execute: Execute) -> None:
    script = "echo done >&2; echo 'shell 0'; echo done; ls /proc/1/fd; echo done >/proc/1/fd/2; exit 5"
    outcome = execute(script)
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, 5)


def test_the_launcher_cannot_be_ended_from_inside(execute: Execute) -> None:
    outcome = execute("kill -9 1; kill -STOP 1; python3 -c 'import os; os.kill(1, 9)'; exit 6")
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, 6)


# what outlives the script --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sleep 99 &", "setsid sleep 99 &", "nohup sleep 99 >/dev/null 2>&1 &", "(sleep 99 &)"])
def test_a_background_process_is_noted_and_ended(execute: Execute, how: str) -> None:
    began = time.monotonic()
    outcome = execute(f"echo started\n{how}\nexit 0", timeout_s=5)
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.PASSED, 0)
    assert outcome.background_left
    assert outcome.output.head == "started\n"
    assert time.monotonic() - began < 4


def test_a_daemon_that_leaves_its_group_is_ended(execute: Execute) -> None:
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(99)"
    outcome = execute(code, "python3")
    assert outcome.outcome is OutcomeKind.PASSED
    assert outcome.background_left


def test_output_of_a_process_substitution_is_kept(execute: Execute) -> None:
    outcome = execute("exec > >(tee -a log.txt) 2>&1\necho through the tee")
    assert outcome.outcome is OutcomeKind.PASSED
    assert outcome.output.head == "through the tee\n"
    assert not outcome.background_left


# output --------------------------------------------------------------------------------------------------------


def test_a_flood_of_output_is_counted_and_cut(execute: Execute) -> None:
    code = "import sys\nprint('FIRST')\nfor _ in range(100):\n    sys.stdout.write('x' * 2**20)\n"
    outcome = execute(code + "sys.stderr.write('\\nLAST\\n')\nsys.exit(7)", "python3", timeout_s=60)
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, 7)
    assert outcome.output.bytes == 6 + 100 * 2**20 + 6
    assert outcome.output.head.startswith("FIRST")
    assert outcome.output.tail.endswith("LAST\n")
    assert len(outcome.model_dump_json()) < 200_000


def test_output_beyond_its_limit_ends_the_run(execute: Execute) -> None:
    outcome = execute("yes", output_bytes=10 << 20, timeout_s=60)
    assert outcome.outcome is OutcomeKind.OUTPUT_EXCEEDED
    assert outcome.output.head.startswith("y\ny\n")


def test_output_that_is_no_text_does_not_break_the_record(execute: Execute) -> None:
    outcome = execute(r"printf '\xff\xfe\x00ok\n'")
    assert outcome.outcome is OutcomeKind.PASSED
    assert "ok" in outcome.output.head
    assert outcome.output.bytes == 6


# memory, processes, disk ---------------------------------------------------------------------------------------

GROW = "data = []\nwhile True:\n    data.append(bytearray(b'x') * (8 << 20))"


def test_memory_beyond_the_limit_is_out_of_memory(execute: Execute) -> None:
    outcome = execute(GROW, "python3", memory_bytes=128 << 20)
    assert outcome.outcome is OutcomeKind.OUT_OF_MEMORY
    assert (outcome.peak_memory_bytes or 0) > 100 << 20


def test_a_child_killed_for_memory_is_out_of_memory(execute: Execute) -> None:
    outcome = execute(python(GROW) + "echo the child ended with $?; exit 0", memory_bytes=128 << 20)
    assert outcome.outcome is OutcomeKind.OUT_OF_MEMORY
    assert "the child ended with 137" in outcome.output.head


def test_what_fits_below_the_limit_passes(execute: Execute) -> None:
    outcome = execute("x = bytearray(b'x') * (40 << 20)", "python3", memory_bytes=128 << 20)
    assert outcome.outcome is OutcomeKind.PASSED
    assert 40 << 20 < (outcome.peak_memory_bytes or 0) < 128 << 20


def test_a_storm_of_processes_is_held_and_ended(execute: Execute) -> None:
    outcome = execute("f() { f | f & }; f; sleep 30", processes=64, timeout_s=3)
    assert outcome.outcome in (OutcomeKind.TIMED_OUT, OutcomeKind.FAILED)


def test_a_full_disk_is_told_from_a_failure(execute: Execute) -> None:
    code = "with open('big', 'wb') as f:\n    for _ in range(64):\n        f.write(bytes(1 << 20))"
    outcome = execute(code, "python3", disk_bytes=32 << 20)
    assert outcome.outcome is OutcomeKind.DISK_EXCEEDED


def test_every_writable_place_is_bounded(execute: Execute) -> None:
    script = (
        "for d in / /etc /usr /var/tmp /home /root /run /dev /opt /repository $HOME . /tmp; do "
        "( echo x > $d/mark ) 2>/dev/null && echo $d; done; true"
    )
    assert execute(script).output.head.split() == ["/tmp/home", ".", "/tmp"]


# isolation -----------------------------------------------------------------------------------------------------


def test_no_network_reaches_the_host(execute: Execute) -> None:
    code = """
import os, socket
def probe(name, call):
    try:
        call(); print(name, "REACHED")
    except OSError as error:
        print(name, type(error).__name__)
probe("host", lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2))
probe("name", lambda: socket.getaddrinfo("example.invalid", 80))
probe("engine", lambda: socket.socket(socket.AF_UNIX).connect("/var/run/docker.sock"))
print(sorted(name for _, name in socket.if_nameindex()))
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcome = execute(code, "python3", variables={"PORT": str(server.getsockname()[1])})
    assert outcome.outcome is OutcomeKind.PASSED
    assert "REACHED" not in outcome.output.head
    assert "['lo']" in outcome.output.head


def test_the_callers_secrets_cannot_be_read(execute: Execute, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_not_for_scripts")
    secret = tmp_path / "secret"
    secret.write_text("not for scripts either")
    outcome = execute(f"env; cat /proc/*/environ {secret} {Path.home()}/.ssh/* /etc/shadow; ls /work /root; true")
    assert "not_for_scripts" not in outcome.output.head
    assert "not for scripts" not in outcome.output.head.replace(str(secret), "")
    assert "HF_TOKEN" not in outcome.output.head


def test_the_script_is_nobody_without_rights(execute: Execute) -> None:
    outcome = execute("id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; ulimit -c")
    user, *rights = outcome.output.head.split("\n")
    assert user == "65534"
    assert [line.split()[1].strip("0") for line in rights[:3]] == ["", "", "1"]


def test_a_prompt_finds_its_input_closed(execute: Execute) -> None:
    outcome = execute("answer = input('continue? ')", "python3", timeout_s=5)
    assert outcome.outcome is OutcomeKind.FAILED
    assert "EOFError" in outcome.output.head


def test_nested_user_namespaces_are_refused(execute: Execute) -> None:
    code = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.unshare(0x10000000))"
    assert execute(code, "python3").output.head == "-1\n"


# trees ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "helper.py").write_text("VALUE = 41\n")
    (folder / "sub" / "train.py").write_text("import pathlib\npathlib.Path('out.txt').write_text('trained')\n")
    for path in (folder, *folder.rglob("*")):
        os.chmod(path, 0o777 if path.is_dir() else 0o666)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    return folder


def test_each_run_has_a_fresh_writable_copy_of_the_tree(execute: Execute, tree: Path) -> None:
    script = "test ! -e out.txt; python train.py && cat out.txt && rm train.py && echo changed >> ../helper.py"
    for _ in range(2):
        outcome = execute(script, tree=tree, folder="./sub")
        assert (outcome.outcome, outcome.output.head) == (OutcomeKind.PASSED, "trained")
    assert (tree / "helper.py").read_text() == "VALUE = 41\n"
    assert sorted(path.name for path in (tree / "sub").iterdir()) == ["train.py"]


def test_a_snippet_imports_its_siblings(execute: Execute, tree: Path) -> None:
    outcome = execute("import helper; print(helper.VALUE + 1)", "python3", tree=tree)
    assert outcome.output.head == "42\n"


def test_a_folder_that_is_not_there_is_a_failure(execute: Execute, tree: Path) -> None:
    outcome = execute("true", tree=tree, folder="./absent")
    assert outcome.outcome is OutcomeKind.FAILED
    assert "does not exist" in outcome.detail


@pytest.mark.parametrize("folder", ["../..", "/etc", "sub/../../../etc"])
def test_a_folder_outside_the_tree_is_refused(execute: Execute, tree: Path, folder: str) -> None:
    assert execute("pwd", tree=tree, folder=folder).outcome is not OutcomeKind.PASSED


# success as declared -------------------------------------------------------------------------------------------


def test_an_artifact_that_was_there_before_is_none(execute: Execute, tree: Path) -> None:
    old = time.time() - 3600
    os.utime(tree / "helper.py", (old, old))
    wanted = {"kind": "artifact", "path": "helper.py"}
    assert execute("true", tree=tree, success=wanted).outcome is OutcomeKind.FAILED
    assert execute("echo x >> helper.py", tree=tree, success=wanted).outcome is OutcomeKind.PASSED
    assert execute("rm helper.py; ln -s /etc/passwd helper.py", tree=tree, success=wanted).outcome is OutcomeKind.FAILED


def test_a_training_job_may_be_declared_to_run_for_a_while(execute: Execute) -> None:
    wanted = {"kind": "runs_for", "pattern": "loss", "seconds": 1}
    outcome = execute("while :; do echo loss 1; sleep 0.1; done", success=wanted, timeout_s=1)
    assert outcome.outcome is OutcomeKind.PASSED
    assert "runs_for" in outcome.detail
    assert execute("sleep 9", success=wanted, timeout_s=1).outcome is OutcomeKind.TIMED_OUT


# the shared cases ----------------------------------------------------------------------------------------------

WORDS = {"ok": {"passed"}, "timeout": {"timed_out"}, "failed": {"failed"}, "oom": {"out_of_memory"}}


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not on this machine")
@pytest.mark.parametrize("case", ["35-timeout-is-not-success", "37-child-keeps-the-pipe", "41-memory-limit"])
def test_shared_cases_give_the_outcome_they_expect(execute: Execute, tree: Path, case: str) -> None:
    expected = json.loads((CASES / case / "expect.json").read_text())
    for path in (CASES / case).iterdir():
        shutil.copy(path, tree)
        (tree / path.name).chmod(0o666)
    for name, wanted in expected["runs"].items():
        limits = {"timeout_s": expected["timeout_s"], "memory_bytes": expected.get("memory_mb", 512) << 20}
        outcome = execute(
            (CASES / case / name).read_bytes(),
            "bash" if name.endswith(".sh") else "python3",
            tree=tree,
            variables={"RBUGS_SANDBOX": "1"},
            **limits,
        )
        kinds = set().union(*(WORDS[word] for word in wanted["status"].split("_or_")))
        assert outcome.outcome.value in kinds, (name, outcome)
        assert outcome.exit_code == wanted.get("exit_code", outcome.exit_code)
        assert outcome.background_left == wanted.get("background_left", outcome.background_left)


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not on this machine")
def test_the_shared_flood_reaches_its_end(execute: Execute, tree: Path) -> None:
    case = CASES / "39-output-flood"
    expected = json.loads((case / "expect.json").read_text())
    outcome = execute((case / "run.py").read_bytes(), "python3", tree=tree, timeout_s=expected["timeout_s"])
    assert (outcome.outcome, outcome.exit_code) == (OutcomeKind.FAILED, expected["exit_code"])
    assert outcome.output.bytes == expected["stdout_bytes"] + expected["stderr_bytes"]
    assert all(mark in outcome.output.head + outcome.output.tail for mark in expected["keeps"])
    assert len(outcome.model_dump_json()) < expected["stored_output_mb"] << 20


@pytest.mark.skipif(not CASES.is_dir(), reason="the shared cases are not on this machine")
def test_the_shared_probes_reach_nothing(execute: Execute, tree: Path) -> None:
    case = CASES / "44-network-off"
    expected = json.loads((case / "expect.json").read_text())
    with socket.create_server(("127.0.0.1", 0)) as server:
        variables = {"RBUGS_PORT": str(server.getsockname()[1])}
        outcome = execute((case / "probe.py").read_bytes(), "python3", tree=tree, variables=variables)
    assert outcome.outcome is OutcomeKind.PASSED
    assert not any(word in outcome.output.head for word in expected["must_not_contain"])
    assert json.loads(outcome.output.head)["interfaces"] == expected["interfaces"]
    assert not outcome.network


# what lies outside -----------------------------------------------------------------------------------------------


def test_links_of_the_tree_lead_nowhere_outside(execute: Execute, tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    (tree / "away").symlink_to(outside)
    (tree / ".benchwright-script").symlink_to(outside / "written")
    (tree / "near").symlink_to("sub")
    assert execute("true", tree=tree, folder="./away").outcome is not OutcomeKind.PASSED
    assert execute("true", tree=tree).outcome is OutcomeKind.PASSED
    assert execute("test -f train.py", tree=tree, folder="./near").outcome is OutcomeKind.PASSED
    assert list(outside.iterdir()) == []
    wanted = {"kind": "artifact", "path": "made/result"}
    (outside / "result").write_text("new, and not the run's")
    assert execute(f"ln -s {outside} made", tree=tree, success=wanted).outcome is OutcomeKind.FAILED
    assert execute("mkdir made; echo 1 >made/result", tree=tree, success=wanted).outcome is OutcomeKind.PASSED


def test_one_run_leaves_nothing_for_the_next(execute: Execute) -> None:
    execute("echo mine >mark; echo mine >/dev/shm/mark; setsid sleep 99 & sleep 0.1", timeout_s=5)
    outcome = execute("ls -A . /dev/shm /tmp; ps ax 2>/dev/null; ls -d /proc/[0-9]*")
    assert "mark" not in outcome.output.head
    assert len([line for line in outcome.output.head.split() if line.startswith("/proc/")]) <= 4


def test_a_declared_metric_is_read_and_compared(execute: Execute) -> None:
    wanted = {"kind": "metric", "pattern": r"accuracy: ([0-9.]+)", "at_least": 0.9}
    assert execute("echo accuracy: 0.1; echo accuracy: 0.95", success=wanted).outcome is OutcomeKind.PASSED
    assert execute("echo accuracy: 0.95; echo accuracy: 0.1", success=wanted).outcome is OutcomeKind.FAILED
    assert execute("echo accuracy: 0.95; exit 3", success=wanted).outcome is OutcomeKind.FAILED
    assert execute("true", success=wanted).outcome is OutcomeKind.FAILED
