"""What evidence is bound to: the job that runs an example's output, and digests over all that a verdict depends on."""

from __future__ import annotations

from dataclasses import replace

from ...core.files import digest_of
from ...core.models import Example, Repository, TaskType
from ...core.tasks import TaskFolder
from ...core.workspace import Workspace
from ..execution import Job

__all__ = ["NOTHING", "check_digest", "example_job", "no_op_digest", "no_op_job", "run_digest"]

NOTHING: dict[TaskType, str] = {"Bash Script": ":", "Python Code": "pass"}
"""Answers that do nothing, and succeed."""


def example_job(workspace: Workspace, folder: TaskFolder, example: Example, registered: Repository | None) -> Job:
    """The job that runs an example's own output, with everything that task, repository and workspace say of it."""
    task = folder.task
    reference = task.repository
    return Job(
        key=f"{task.id} {example.id}",
        code=example.output,
        type=example.type,
        path=task.path,
        prefix_code=example.prefix_code or task.prefix_code,
        repository=Repository(name=reference.name, url=reference.url, commit=reference.commit),
        environment=task.environment or (registered and registered.environment) or workspace.config.environment,
        limits=task.limits or workspace.config.limits,
        network=task.network,
        success=task.success,
    )


def run_digest(job: Job, environment_digest: str) -> str:
    """SHA-256 over all that a run depends on: where any of it changes, old evidence no longer holds."""
    return digest_of(
        {
            "code": job.code,
            "prefix_code": job.prefix_code,
            "type": job.type,
            "path": job.path,
            "commit": job.repository.commit if job.repository else None,
            "environment": environment_digest,
            "success": job.success.model_dump(mode="json", exclude_none=True),
            "limits": job.limits.model_dump(mode="json"),
            "network": job.network,
        }
    )


def check_digest(job: Job, example: Example) -> str:
    """SHA-256 over all that the check of an example's arguments depends on, but for the toolkit itself."""
    return digest_of(
        {
            "code": job.code,
            "prefix_code": job.prefix_code,
            "type": job.type,
            "path": job.path,
            "commit": job.repository.commit if job.repository else None,
            "arguments": example.arguments,
        }
    )


def no_op_job(job: Job) -> Job | None:
    """The run of doing nothing; None where success is the exit status alone, since that run tells nothing."""
    if job.success.kind == "exit_code":
        return None
    return replace(job, key=f"{job.key} no-op", code=NOTHING[job.type])


def no_op_digest(job: Job, example: Example, environment_digest: str) -> str:
    """Of the no-op's run where there is one, else of the check that refuses it."""
    nothing = no_op_job(job)
    return check_digest(job, example) if nothing is None else run_digest(nothing, environment_digest)
