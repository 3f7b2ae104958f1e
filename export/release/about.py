"""The small files by which a release is cited, found in training data, put on a leaderboard, and judged."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...annotation import archive
from ...annotation.consensus import AgreementReport, agreement
from ...core.config import Config
from ...core.errors import BenchwrightError
from ...core.files import atomic_write, canonical_json
from ...core.workspace import Workspace
from .splits import is_train

__all__ = ["canary_text", "citation", "description", "home_page", "leaderboard", "write_annotations"]

LABEL_FIELDS = (
    "project", "candidate_id", "candidate_digest", "annotator", "skipped", "verdict", "type", "oracle_scope",
    "instruction", "arguments", "output", "prefix_code", "flags", "lead_time_s",
)  # fmt: skip
"""What is published of each person's newest annotation. Free remarks, times of day and the server's own items stay
in the workspace: they could tell who somebody is."""


def description(config: Config) -> str:
    """What the benchmark is, in its own words or ours."""
    return config.about.description or (
        f"{config.name}: instructions on repositories of machine-learning code at fixed commits, each with the "
        "command or snippet that fulfils it."
    )


def home_page(config: Config) -> str | None:
    """The address under which the release can be found, if there is one."""
    hub = config.hub.repository
    return config.about.url or (f"https://huggingface.co/datasets/{hub}" if hub else None)


def citation(config: Config) -> str:
    """``CITATION.cff``: a Citation File Format 1.2.0 record of the release."""
    import yaml

    fields: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use this dataset, please cite it.",
        "type": "dataset",
        "title": config.name,
        "abstract": description(config),
        "version": config.version,
        "license": config.license,
        "authors": [{"name": name} for name in config.about.authors or (f"The {config.name} authors",)],
    }
    if config.about.date:
        fields["date-released"] = config.about.date
    if url := home_page(config):
        fields["url"] = url
    return str(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120))


def canary_text(name: str, canary: str) -> str:
    """``canary.txt``."""
    return f"{name} canary GUID {canary}\nDo not train on this benchmark.\n"


def leaderboard(config: Config, splits: Sequence[str]) -> str:
    """``eval.yaml``: by it the Hub makes a leaderboard of the dataset, once the dataset is allowed to have one.

    The Hub knows frameworks by a fixed list and refuses others; ``benchwright export harbor`` writes the release for
    the one named here, with a verifier of our strict protocol.
    """
    import yaml

    measured = [name for name in splits if not is_train(name)]
    fields = {
        "name": config.name,
        "description": description(config),
        "evaluation_framework": "harbor",
        "tasks": [{"id": name, "config": "default", "split": name} for name in measured],
    }
    return str(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=120))


def write_annotations(workspace: Workspace, folder: Path) -> AgreementReport | None:
    """Guideline, individual labels under pseudonyms and agreement figures; nothing where nobody annotated.

    Raises:
        BenchwrightError: the archive cannot be read.
    """
    labels = []
    for project in archive.projects(workspace):
        for item in archive.latest(archive.read(workspace, project)).values():
            labels.append(canonical_json(item.model_dump(mode="json", include=set(LABEL_FIELDS))))
    if not labels:
        return None
    guideline = files(f"{__name__.partition('.')[0]}.annotation") / "guidelines.md"
    atomic_write(folder / "guidelines.md", guideline.read_bytes())
    atomic_write(folder / "labels.jsonl", "".join(f"{line}\n" for line in sorted(labels)))
    try:
        report = agreement(workspace)
    except BenchwrightError:  # the archive is sound, as was seen above: no candidate was judged by two people
        return None
    atomic_write(folder / "agreement.json", canonical_json(report.value()) + "\n")
    return report
