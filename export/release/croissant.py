"""``croissant.json``: the release in MLCommons' Croissant 1.1, with the fields for responsible AI.

Sources: https://github.com/mlcommons/croissant, docs/croissant-spec-1.1.md and docs/croissant-rai-spec.md. What is
said about people, annotations and limits is computed from the release; what is not known is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.config import Config
from .about import description, home_page
from .compile import Compiled

if TYPE_CHECKING:
    from ...annotation.consensus import AgreementReport
    from .card import Part

__all__ = ["croissant_text"]

CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataBiases": "cr:dataBiases",
    "dataCollection": "cr:dataCollection",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "personalSensitiveInformation": "cr:personalSensitiveInformation",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "unArchive": "cr:unArchive",
}
"""The standard context, which readers compare."""
DATA_TYPES = {"int64": "sc:Integer", "float64": "sc:Float", "string": "sc:Text", "large_string": "sc:Text"}
KEYS = ("github_id", "id")


def croissant_text(
    config: Config,
    stage: Path,
    dtypes: Mapping[str, Mapping[str, str]],
    parts: Sequence[Part],
    compiled: Compiled,
    agreement: AgreementReport | None,
) -> str:
    """The whole file. ``stage`` holds the Parquet files of ``parts``, whose digests go into it.

    Record sets are called as the splits; those of other configurations than the default ``CONFIGURATION/SPLIT``.
    """
    licenses = sorted({config.license, *(item.license for item in compiled.repositories if item.license)})
    optional = {"url": home_page(config), "datePublished": config.about.date}
    document = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": config.name,
        "description": description(config),
        "version": config.version,
        "license": [_license(item) for item in licenses],
        **{key: value for key, value in optional.items() if value},
        "creator": [
            {"@type": "sc:Person", "name": name} for name in config.about.authors or (f"The {config.name} authors",)
        ],
        "citeAs": f"{config.name}, version {config.version} (see CITATION.cff)",
        "keywords": ["benchmark", "code"],
        "inLanguage": ["en"],
        "prov:wasDerivedFrom": [f"{item.url} at {item.commit}" for item in compiled.repositories],
        **_responsible(compiled, agreement),
        "distribution": [_file(stage, part) for part in parts],
        "recordSet": [_records(part, dtypes[part.config]) for part in parts],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _license(spdx: str) -> str:
    return spdx if spdx.startswith("LicenseRef-") else f"https://spdx.org/licenses/{spdx}"


def _name(part: Part) -> str:
    return part.split if part.config == "default" else f"{part.config}/{part.split}"


def _file(stage: Path, part: Part) -> dict[str, Any]:
    with open(stage / part.path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": f"{_name(part)}.parquet",
        "name": part.path,
        "contentUrl": part.path,
        "contentSize": f"{part.bytes_on_disk} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _records(part: Part, columns: Mapping[str, str]) -> dict[str, Any]:
    name = _name(part)
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "dataType": DATA_TYPES[dtype],
            "source": {"fileObject": {"@id": f"{name}.parquet"}, "extract": {"column": column}},
        }
        for column, dtype in columns.items()
    ]
    keys = [{"@id": f"{name}/{column}"} for column in KEYS if column in columns]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Split {part.split} of the configuration {part.config}: {part.rows} rows.",
        **({"key": keys} if len(keys) == len(KEYS) else {}),
        "field": fields,
    }


def _responsible(compiled: Compiled, agreement: AgreementReport | None) -> dict[str, Any]:
    """The properties of the RAI vocabulary, from what the release holds."""
    tasks = [item.task for item in compiled.tasks]
    annotated = [task for task in tasks if task.origin == "annotated"]
    people = sorted({name for task in annotated for name in task.annotators})
    rows = compiled.splits["full"]
    bash = sum(row.type.startswith("Bash") for row in rows)
    written = sum(example.machine_written for item in compiled.tasks for example in item.examples)
    verified = sum(row.verified_at is not None for row in rows)
    found: dict[str, Any] = {
        "rai:dataCollection": f"{len(tasks)} tasks from the documents of {len(compiled.repositories)} public "
        f"repositories, each at a fixed commit; {len(annotated)} were annotated with benchwright, "
        f"{len(tasks) - len(annotated)} were imported from an earlier dataset.",
        "rai:dataCollectionType": ["Secondary Data Analysis", "Manual Human Curation"],
        "rai:dataCollectionRawData": "Files of git repositories; addresses and commits are in repositories.toml.",
        "rai:dataPreprocessingProtocol": [
            "Text is stored byte for byte; nothing is normalised. No value is imputed: unknown values are null."
        ],
        "rai:dataBiases": [
            f"{bash} of {len(rows)} examples of the split full are Bash, the others Python. Only what well-known "
            "repositories document is asked; instructions are in English."
        ],
        "rai:dataLimitations": [
            f"The outputs of {verified} of {len(rows)} examples of the split full are known to pass in the release's "
            "environments (column verified_at). An output that passes need not be the only right one."
        ],
        "rai:dataUseCases": ["Testing models and agents that write commands or code for repositories. Not training."],
        "rai:personalSensitiveInformation": [
            "None is collected. Documents of repositories may name their authors; annotators have pseudonyms."
        ],
        "rai:dataSocialImpact": "Scores on it may decide which model is trusted with commands; they speak of these "
        "repositories at these commits only. Executing answers of models needs a sandbox.",
        "rai:dataReleaseMaintenancePlan": "Versions are numbered and tagged, CHANGELOG.md lists every changed "
        "example; faulty examples are withdrawn with a reason, and their numbers are never used again.",
    }
    if annotated:
        found["rai:dataAnnotationPlatform"] = ["Label Studio"]
        found["rai:dataAnnotationProtocol"] = "annotations/guidelines.md is what annotators were told."
        found["rai:dataAnnotationAnalysis"] = [_agreement(agreement)]
        found["rai:annotationsPerItem"] = f"{min(len(t.annotators) for t in annotated)} to " + (
            f"{max(len(t.annotators) for t in annotated)} authors of each annotated task, {len(people)} in all"
        )
    if written:
        found["rai:machineAnnotationTools"] = [f"{written} instructions were written by a model and reviewed."]
    return found


def _agreement(report: AgreementReport | None) -> str:
    if report is None:
        return "No candidate was judged by two people."
    return (
        f"{report.candidates} candidates were judged by two or more of {len(report.annotators)} annotators; "
        "annotations/agreement.json has the figures field by field, annotations/labels.jsonl the labels."
    )
