"""What a command line starts: through wrappers, launchers and interpreters to the script, module or program."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .words import PYTHON, SHELLS

__all__ = ["Invocation", "invocation_of"]

Kind = Literal["file", "module", "program", "code"]


@dataclass(frozen=True)
class Invocation:
    """What is started, with its own arguments only; options of launchers are not among them."""

    kind: Kind
    """``program`` is a bare name, which may be a console script of the package; ``code`` is ``python -c``."""
    target: str
    args: tuple[str, ...]
    static: tuple[bool, ...]
    env: tuple[tuple[str, str], ...] = ()
    """Set by ``env`` on the way."""
    launcher: tuple[str, ...] = ()
    """The words before the target."""


# options that take a value, of each wrapper; those it does not list take none
_VALUED = {
    "sudo": "-u -g -C -h -p",
    "nice": "-n --adjustment",
    "timeout": "-s -k --signal --kill-after",
    "env": "-u --unset -C --chdir",
    "xvfb-run": "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args --wait",
    "srun": "-N -n -c -p -t -w -x -A -J -G -o -e -i --nodes --ntasks --partition --job-name --gpus --mem --time",
    "mpirun": "-n -np -c -H -host --host -hostfile --hostfile -x -bind-to --bind-to -map-by --map-by -mca --mca",
    "horovodrun": "-np -H --hostfile -p --ssh-port",
    "conda": "-n --name -p --prefix --cwd",
    "uv": "--with --with-requirements --python -p --extra --group --project --directory --env-file --index",
    "numactl": "-N -m -C -i --cpunodebind --membind --physcpubind --interleave",
    "taskset": "",
    "stdbuf": "-i -o -e",
    "python": "-W -X -Q --check-hash-based-pycs",
    "torchrun": (
        "--nnodes --nproc_per_node --nproc-per-node --node_rank --node-rank --master_addr --master-addr --master_port"
        " --master-port --rdzv_backend --rdzv-backend --rdzv_endpoint --rdzv-endpoint --rdzv_id --rdzv-id --rdzv_conf"
        " --rdzv-conf --max_restarts --max-restarts --monitor_interval --start_method --start-method --role --log_dir"
        " --log-dir -r --redirects -t --tee --local_addr --local-addr"
    ),
    "accelerate": (
        "--config_file --num_processes --num_machines --machine_rank --main_process_ip --main_process_port"
        " --mixed_precision --gpu_ids --dynamo_backend --num_cpu_threads_per_process --deepspeed_config_file"
        " --zero_stage --fsdp_sharding_strategy --rdzv_backend"
    ),
    "deepspeed": (
        "-H --hostfile -i --include -e --exclude --num_nodes --min_elastic_nodes --num_gpus --master_port"
        " --master_addr --launcher --launcher_args --node_rank"
    ),
    "streamlit": "--server.port --server.address --theme.base",
    "coverage": "--source --omit --include --rcfile",
    "composer": "-n --nproc --master_port --world_size",
    "colossalai": "--nproc_per_node --hostfile --include --exclude --num_nodes --master_port --master_addr",
    "kernprof": "-o --outfile -s --setup",
    "lightning": "--accelerator --devices --num-nodes --precision --strategy",
    "fabric": "--accelerator --devices --num-nodes --precision --strategy",
}
_VALUED["mpiexec"] = _VALUED["mpirun"]
_WRAPPERS: tuple[str, ...] = (
    "sudo",
    "time",
    "nohup",
    "nice",
    "timeout",
    "env",
    "xvfb-run",
    "srun",
    "mpirun",
    "mpiexec",
    "numactl",
)
_WRAPPERS += ("taskset", "stdbuf", "exec", "command", "horovodrun", "setsid", "caffeinate")
_RUNNERS = {  # program -> the sub-command after which a command follows
    "conda": ("run",),
    "mamba": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "uv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "pixi": ("run",),
    "rye": ("run",),
}
_SCRIPT_LAUNCHERS: tuple[str, ...] = ("torchrun", "deepspeed", "composer", "accelerate", "colossalai", "lightning")
_SCRIPT_LAUNCHERS += ("fabric", "streamlit", "gradio", "chainlit", "modal", "marimo", "bokeh", "panel", "coverage")
_SCRIPT_LAUNCHERS += ("kernprof", "scalene", "viztracer", "pyinstrument", "memray", "mprof")
_SUB_COMMANDS = ("launch", "run", "serve", "model")
_NO_LAUNCHERS = (
    "echo",
    "printf",
    "cat",
    "ssh",
    "which",
    "alias",
    "grep",
    "watch",
    "ls",
    "vim",
    "nano",
    "cp",
    "mv",
    "rm",
)
_LAUNCHER_MODULES = {
    "torch.distributed.launch": "torchrun",
    "torch.distributed.run": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
    "coverage": "coverage",
    "streamlit": "streamlit",
    "pdb": "python",
    "cProfile": "python",
    "kernprof": "python",
}


@dataclass
class _Words:
    words: list[str]
    static: list[bool]
    at: int = 0

    @property
    def left(self) -> bool:
        return self.at < len(self.words)

    @property
    def word(self) -> str:
        return self.words[self.at]

    def skip_options(self, program: str) -> None:
        """Pass over a program's own options and their values."""
        valued = set(_VALUED.get(program, "").split())
        while self.left and self.word.startswith("-") and self.word not in ("-m", "-c"):
            name = self.word
            self.at += 1
            if name == "--":
                return
            if name in valued and self.left and "=" not in name:
                self.at += 1

    def skip_to_python(self) -> bool:
        """Whether an interpreter with a script or module follows the words of a launcher unknown here; goes there."""
        for ahead in range(self.at + 1, len(self.words) - 1):
            after = next((word for word in self.words[ahead + 1 :] if word == "-m" or not word.startswith("-")), "")
            if PYTHON.fullmatch(self.words[ahead]) and (after == "-m" or after.endswith(".py")):
                self.at = ahead
                return True
        return False

    def finish(self, kind: Kind, env: Sequence[tuple[str, str]]) -> Invocation:
        launcher, target = tuple(self.words[: self.at]), self.word
        rest = self.at + 1
        return Invocation(kind, target, tuple(self.words[rest:]), tuple(self.static[rest:]), tuple(env), launcher)


def invocation_of(argv: Sequence[str], static: Sequence[bool] = ()) -> Invocation | None:
    """What ``argv`` starts; None where it starts nothing (an empty line, an interpreter without a script)."""
    words = _Words(list(argv), list(static) or [True] * len(argv))
    env: list[tuple[str, str]] = []
    while words.left:
        name = posixpath.basename(words.word) if "/" in words.word and not _is_script(words.word) else words.word
        if name in _WRAPPERS:
            words.at += 1
            words.skip_options(name)
            while name in ("env", "sudo") and words.left and re.fullmatch(r"[A-Za-z_]\w*=.*", words.word, re.DOTALL):
                key, _, value = words.word.partition("=")
                env.append((key, value))
                words.at += 1
            if name in ("timeout", "taskset") and words.left:
                words.at += 1  # the duration, the mask
        elif name in _RUNNERS and words.at + 1 < len(words.words) and words.words[words.at + 1] in _RUNNERS[name]:
            words.at += 2
            words.skip_options(name)
            if name == "uv" and words.left and words.word == "-m":
                words.at += 1
                return words.finish("module", env) if words.left else None
        elif PYTHON.fullmatch(words.word):
            return _python(words, env)
        elif name in _SCRIPT_LAUNCHERS:
            return _script_launcher(words, name, env)
        elif name in SHELLS:
            words.at += 1
            words.skip_options("bash")
            return words.finish("file" if words.word != "-c" else "code", env) if words.left else None
        elif _is_script(words.word) or not _could_launch(name) or not words.skip_to_python():
            return words.finish("file" if _is_script(words.word) else "program", env)
    return None


def _could_launch(name: str) -> bool:
    return name not in _NO_LAUNCHERS and re.fullmatch(r"[A-Za-z][\w.-]*", name) is not None


def _is_script(word: str) -> bool:
    return word.startswith("./") or re.search(r"\.(?:py|sh|bash)$", word) is not None


def _python(words: _Words, env: list[tuple[str, str]]) -> Invocation | None:
    words.at += 1
    words.skip_options("python")
    # flags may be glued: -um module
    if words.left and re.fullmatch(r"-[A-Za-z]*m", words.word):
        words.at += 1
        if not words.left:
            return None
        launcher = _LAUNCHER_MODULES.get(words.word)
        if launcher:
            return _script_launcher(words, launcher, env)
        return words.finish("module", env)
    if words.left and words.word == "-c":
        words.at += 1
        return words.finish("code", env) if words.left else None
    return words.finish("file", env) if words.left else None


def _script_launcher(words: _Words, name: str, env: list[tuple[str, str]]) -> Invocation | None:
    words.at += 1
    while words.left and words.word in _SUB_COMMANDS:
        words.at += 1
    words.skip_options(name)
    if words.left and words.word in ("-m", "--module"):
        words.at += 1
        return words.finish("module", env) if words.left else None
    # an option we do not know may have a value: the script is the first word that looks like one
    for ahead in range(words.at, min(words.at + 6, len(words.words))):
        if words.words[ahead].startswith("-") and ahead > words.at:
            words.at = ahead
            words.skip_options(name)
            break
        if _is_script(words.words[ahead]):
            words.at = ahead
            break
    if not words.left:
        return None
    if words.word in ("-m", "--module"):
        words.at += 1
        return words.finish("module", env) if words.left else None
    if PYTHON.fullmatch(words.word):
        return _python(words, env)
    return words.finish("file", env)
