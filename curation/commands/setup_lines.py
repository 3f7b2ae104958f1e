"""Telling what does the work from what prepares it: installing, downloading, exporting, moving files about."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

from .launchers import Invocation
from .shell import Command

__all__ = ["Role", "role_of"]

Role = Literal["task", "setup", "other"]
"""``setup`` goes into a task's prefix code; ``other`` is neither (a listing, an editor, a server outside)."""

_SETUP_PROGRAMS = (
    "apt apt-get aria2c aws axel brew bunzip2 bzip2 cargo cat cd chmod cmake conda cp curl dnf docker echo"
    " export gdown git git-lfs gsutil gunzip gzip hf huggingface-cli kaggle ln make mamba mkdir module mv npm"
    " pacman pip pip3 pipenv poetry popd printf pushd rm rsync scp sed set sudo tar touch tr unset unzip uv"
    " virtualenv wget yum 7z wandb alias easy_install nvidia-docker docker-compose rename find sort head tail"
    " shuf split xargs awk perl grep zip mount ssh-keygen activate deactivate conda-env ninja meson"
)
_OTHER_PROGRAMS = "ls man vi vim nano less more top nvidia-smi open xdg-open clear exit htop which tmux screen"
_SETUP_MODULES = re.compile(r"(?:pip|venv|virtualenv|ensurepip|build|ipykernel|wget|gdown|nltk|spacy)(?:\.\w+)*")
_SETUP_SCRIPT = re.compile(
    r"(?:setup|install|bootstrap|activate|get-pip|conda_?env|env|environment)\w*"
    r"|(?:.*[_-])?(?:download|install)(?:[_-].*|er|s)?|(?:get|fetch|dl)[_-].*|wget.*",
    re.IGNORECASE,
)


def role_of(command: Command, invocation: Invocation | None) -> Role:
    """What a command is for."""
    if invocation is None:
        return "other"
    name = posixpath.basename(invocation.target)
    if invocation.kind == "module":
        return "setup" if _SETUP_MODULES.fullmatch(invocation.target) else "task"
    if invocation.kind == "code":
        return "setup" if re.search(r"download|nltk|install", invocation.target) else "other"
    if invocation.kind == "file":
        if command.program in ("source", ".") and not name.endswith((".sh", ".bash")):
            return "setup"
        stem = re.sub(r"\.(?:py|sh|bash)$", "", name)
        return "setup" if _SETUP_SCRIPT.fullmatch(stem) else "task"
    if name in _SETUP_PROGRAMS.split():
        return "setup"
    return "other" if name in _OTHER_PROGRAMS.split() else "task"
