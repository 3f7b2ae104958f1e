"""What a script really starts, recorded: bash runs it in the sandbox with launchers in front that only take notes.

``python``, ``torchrun``, ``bash`` and their kin are found first on the path; each writes down its words, folder and
variables and succeeds. Programs that are not there are noted and succeed, too. So bash itself resolves quoting,
variables, loops and conditions, and nothing of the repository's Python runs. A script that forges notes in the record
deceives only a check of its own arguments: what it really does is judged by its execution.
"""

from __future__ import annotations

import base64
import json
import posixpath
import secrets
import zlib
from collections.abc import Iterable

from ...core.errors import InfrastructureError
from ...core.models import Limits, OutcomeKind, Repository
from ..execution import Job, Runner
from .calls import Call, Trace, call_of

__all__ = ["Recorder"]

LIMITS = Limits(timeout_s=20, memory_bytes=256 * 1024**2, output_bytes=8 * 1024**2, disk_bytes=2 * 1024**3)
_LAUNCHERS = """
    python python2 python3 python3.6 python3.7 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 pypy
    ipython torchrun accelerate deepspeed horovodrun mpirun mpiexec srun sbatch composer colossalai streamlit coverage
    jupyter fairseq-train fairseq-generate fairseq-preprocess conda mamba uv poetry pipenv pip pip3 wget curl git
    xvfb-run numactl nvidia-smi
"""
_MARK = "benchwright-code-begins"
_WRAPPER = r"""
unset BASH_ENV ENV
notes=$(mktemp -d) && mkdir "$notes/bin" "$notes/calls" || exit 70
real=$(command -v bash) reader=$(command -v python3)
cat > "$notes/bin/note" <<'NOTE'
#!/bin/bash -p
name=${0##*/}
case $name in sudo) while [ "${1:0:1}" = - ]; do shift; done; exec "$@";; esac
file=$BENCHWRIGHT_NOTES/calls/$EPOCHREALTIME-$BASHPID
case $name in bash|sh) case ${1:-} in ''|-c|-s|-) exec "$BENCHWRIGHT_BASH" "$@";; esac;; esac
{ printf '%s\0' "$PWD" "$name" "$#" "$@"; env -0; } > "$file.part" && mv "$file.part" "$file"
case $name in bash|sh) [ -e "$1" ] && exec "$BENCHWRIGHT_BASH" "$@";; esac
exit 0
NOTE
chmod +x "$notes/bin/note"
for name in @LAUNCHERS@ bash sh sudo @MARK@; do ln -s note "$notes/bin/$name"; done
cat > "$notes/script" <<'@END@'
command_not_found_handle() { local name=$1; shift
  [ -e "$BENCHWRIGHT_NOTES/bin/$name" ] || ln -s note "$BENCHWRIGHT_NOTES/bin/$name"
  "$BENCHWRIGHT_NOTES/bin/$name" "$@"; }
export -f command_not_found_handle
@CD@
@CODE@
@END@
export BENCHWRIGHT_NOTES=$notes BENCHWRIGHT_BASH=$real
env -0 > "$notes/before"
PATH="$notes/bin:$PATH" "$real" "$notes/script" > /dev/null 2>&1 < /dev/null
"$reader" -I -c '
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
' "$notes" "$PWD"
"""
_MAKES_FOLDERS = 'cd() { builtin cd "$@" 2>/dev/null || { mkdir -p -- "${@: -1}" && builtin cd "$@"; }; }'
_OURS = ("BENCHWRIGHT_", "BASH_FUNC_", "PATH=", "_=", "SHLVL=", "OLDPWD=", "PWD=")


class Recorder:
    """Records calls with a runner that is open already."""

    def __init__(
        self,
        runner: Runner,
        *,
        environment: str = "standard",
        repository: Repository | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        """Without ``repository`` the script runs in an empty folder, where ``cd`` makes what it is to enter."""
        self._runner = runner
        self._environment = environment
        self._repository = repository
        self._limits = limits

    def record(self, code: str, *, path: str = "./", prefix_code: str = "") -> Trace:
        """The calls that ``code`` makes after ``prefix_code``, in the order of their starts.

        Raises:
            InfrastructureError: the sandbox failed, so nothing is known of the script.
        """
        end = f"BENCHWRIGHT-{secrets.token_hex(16)}"
        script = _WRAPPER.replace("@CODE@", f"{prefix_code}\n{_MARK}\n{code}")
        script = script.replace("@CD@", "" if self._repository else _MAKES_FOLDERS)
        script = script.replace("@LAUNCHERS@", " ".join(_LAUNCHERS.split())).replace("@MARK@", _MARK)
        outcome = self._runner.execute(
            Job(
                key=end,
                code=script.replace("@END@", end),
                type="Bash Script",
                path=path if self._repository else "./",
                repository=self._repository,
                environment=self._environment,
                limits=self._limits,
            )
        )
        if outcome.outcome is OutcomeKind.INFRASTRUCTURE:
            raise InfrastructureError(f"the calls could not be recorded: {outcome.detail}")
        parts = (outcome.output.head + outcome.output.tail).split(end)
        if len(parts) < 3:
            return Trace((), (f"the recording ended early: {outcome.outcome.value}",))
        told = json.loads(zlib.decompress(base64.b64decode(parts[-2])))
        return Trace(tuple(_calls(told, path)))


def _calls(told: Iterable[tuple[str, str, list[str], list[str]]], path: str) -> Iterable[Call]:
    begun = False
    for folder, name, words, env in told:
        if name == _MARK:
            begun = True
            continue
        joined = posixpath.normpath(posixpath.join(path, folder))
        pairs = [pair.partition("=") for pair in env if not pair.startswith(_OURS)]
        call = call_of([name, *words], "" if joined == "." else joined, [(key, value) for key, _, value in pairs])
        if begun and call is not None:
            yield call
