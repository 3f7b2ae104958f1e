"""What a script really starts, recorded: bash runs it in the sandbox with launchers in front that only take notes.

``python``, ``torchrun``, ``bash`` and their kin are found first on the path; each writes down its words, folder and
variables and succeeds. Programs that are not there are noted and succeed, too. So bash itself resolves quoting,
variables, loops and conditions, and nothing of the repository's Python runs. No variable tells a script that it is
recorded; one that finds out all the same and forges notes deceives only a check of its own arguments: what it really
does is judged by its execution.
"""

from __future__ import annotations

import base64
import json
import posixpath
import secrets
import zlib
from collections.abc import Callable, Iterable

from ...core.models import Limits, Outcome, OutcomeKind, Repository
from ..execution import Job, Runner
from ..recipes import STANDARD
from .calls import MARK, Call, Trace, after_preparation, call_of

__all__ = ["Recorder", "recording"]

LIMITS = Limits(timeout_s=20, memory_bytes=256 * 1024**2, output_bytes=8 * 1024**2, disk_bytes=2 * 1024**3)
_LAUNCHERS = """
    python python2 python3 python3.6 python3.7 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 pypy
    ipython torchrun accelerate deepspeed horovodrun mpirun mpiexec srun sbatch composer colossalai streamlit coverage
    jupyter fairseq-train fairseq-generate fairseq-preprocess conda mamba uv poetry pipenv pip pip3 wget curl git
    xvfb-run numactl nvidia-smi sleep
"""
_WRAPPER = r"""
unset BASH_ENV ENV
start=$PWD
notes=$(mktemp -d) && mkdir "$notes/bin" "$notes/calls" "$notes/real" || exit 70
reader=$(command -v python3) && ln -s "$(command -v bash)" "$notes/real/bash" || exit 70
cd "$notes/bin" && tee note @LAUNCHERS@ bash sh sudo @MARK@ > /dev/null <<'NOTE'
#!/bin/bash -p
name=${0##*/} notes=${0%/*/*}
case $name in sudo) while [ "${1:0:1}" = - ]; do shift; done; exec "$@";; esac
file=$notes/calls/$EPOCHREALTIME-$BASHPID
case $name in bash|sh) case ${1:-} in ''|-c|-s|-) exec "$notes/real/bash" "$@";; esac;; esac
{ printf '%s\0' "$PWD" "$name" "$#" "$@"; env -0; } > "$file.part" && mv "$file.part" "$file"
case $name in bash|sh) [ -e "$1" ] && exec "$notes/real/bash" "$@";; esac
exit 0
NOTE
chmod +x -- * && cd "$start" || exit 70
printf 'command_not_found_handle() { set -- %q "$@"; [ -e "$1/$2" ] || ln -s note "$1/$2"; "$1/$2" "${@:3}"; }\n' \
  "$notes/bin" > "$notes/script"
cat >> "$notes/script" <<'@END@'
export -f command_not_found_handle
@CD@
@CODE@
@END@
env -0 > "$notes/before"
PATH="$notes/bin:$PATH" "$notes/real/bash" "$notes/script" > /dev/null 2>&1 < /dev/null
"$reader" -I -S -c '
import base64, json, os, sys, zlib
notes, start = sys.argv[1:]
split = lambda path: open(path, "rb").read().decode("utf-8", "replace").split("\0")[:-1]
before = set(split(notes + "/before"))
calls = []
for name in sorted(os.listdir(notes + "/calls")):
    if not name.endswith(".part"):
        words = split(notes + "/calls/" + name)
        count = int(words[2])
        env = [word for word in words[3 + count:] if word not in before]
        calls.append([os.path.relpath(words[0], start), words[1], words[3:3 + count], env])
print("@END@" + base64.b64encode(zlib.compress(json.dumps(calls[:2000]).encode())).decode() + "@END@")
' "$notes" "$start"
"""
_MAKES_FOLDERS = 'cd() { builtin cd "$@" 2>/dev/null || { mkdir -p -- "${@: -1}" && builtin cd "$@"; }; }'
_OURS = ("BASH_FUNC_", "PATH=", "_=", "SHLVL=", "OLDPWD=", "PWD=")


def recording(
    code: str,
    *,
    path: str = "./",
    prefix_code: str = "",
    environment: str = STANDARD,
    repository: Repository | None = None,
    limits: Limits = LIMITS,
) -> tuple[Job, Callable[[Outcome], Trace | None]]:
    """The job that records the calls ``code`` makes after ``prefix_code``, and what reads them from its outcome.

    The reader gives the calls in the order of their starts, and None where the infrastructure failed. Without
    ``repository`` the script runs in an empty folder, where ``cd`` makes what it is to enter.
    """
    end = f"BENCHWRIGHT-{secrets.token_hex(16)}"
    script = _WRAPPER.replace("@CODE@", f"{prefix_code}\n{MARK}\n{code}")
    script = script.replace("@CD@", "" if repository else _MAKES_FOLDERS)
    script = script.replace("@LAUNCHERS@", " ".join(_LAUNCHERS.split())).replace("@MARK@", MARK)
    job = Job(
        key=end,
        code=script.replace("@END@", end),
        type="Bash Script",
        path=path if repository else "./",
        repository=repository,
        environment=environment,
        limits=limits,
    )

    def read(outcome: Outcome) -> Trace | None:
        if outcome.outcome is OutcomeKind.INFRASTRUCTURE:
            return None
        parts = (outcome.output.head + outcome.output.tail).split(end)
        if len(parts) < 3:
            return Trace((), (f"the recording ended early: {outcome.outcome.value}",))
        told = json.loads(zlib.decompress(base64.b64decode(parts[-2])))
        return Trace(after_preparation(list(_calls(told, path)), MARK))

    return job, read


class Recorder:
    """Records calls with a runner that is open already."""

    def __init__(
        self,
        runner: Runner,
        repository: Repository | None = None,
        environment: str = STANDARD,
        limits: Limits = LIMITS,
    ) -> None:
        self._runner = runner
        self._repository = repository
        self._environment = environment
        self._limits = limits
        self.failed = False
        """Whether the sandbox failed for one of the scripts."""

    def record(self, code: str, *, path: str = "./", prefix_code: str = "") -> Trace | None:
        """What ``code`` really starts; None where the sandbox failed."""
        job, read = recording(
            code,
            path=path,
            prefix_code=prefix_code,
            environment=self._environment,
            repository=self._repository,
            limits=self._limits,
        )
        trace = read(self._runner.execute(job))
        self.failed = self.failed or trace is None
        return trace


def _calls(told: Iterable[tuple[str, str, list[str], list[str]]], path: str) -> Iterable[Call]:
    for folder, name, words, env in told:
        joined = posixpath.normpath(posixpath.join(path, folder))
        pairs = [pair.partition("=") for pair in env if not pair.startswith(_OURS)]
        call = call_of([name, *words], "" if joined == "." else joined, [(key, value) for key, _, value in pairs])
        if call is not None:
            yield call
