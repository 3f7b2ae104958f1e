"""Telling a server where drafts are run: one interactive ML backend for each project, with a secret of its own."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ...core.errors import BenchwrightError
from ..client import ONCE, Client, DoubtfulError
from ..projects import Project

__all__ = ["connect", "disconnect"]

TITLE = "benchwright live"
"""By which our backend is recognised among others that a project may have."""
RUN_WAIT_S = 100.0


def connect(client: Client, project: Project, url: str, secret: str) -> None:
    """Make ``url`` the project's backend of ours; one that an earlier run left behind is replaced.

    What annotators find filled in stays as it is: the server would take a new backend's answers for it.

    Raises:
        BenchwrightError: the server cannot reach ``url``, or may not.
    """
    disconnect(client, project)
    filled_in = client.project(project.id).get("model_version")

    def create(sdk: Any) -> None:
        sdk.ml.create(
            project=project.id,
            url=url,
            title=TITLE,
            is_interactive=True,
            auto_update=False,
            timeout=RUN_WAIT_S,
            auth_method="BASIC_AUTH",
            basic_auth_user=project.slug,
            basic_auth_pass=secret,
            request_options=ONCE,
        )

    try:
        client.call("connecting execution while typing", create)
    except DoubtfulError:
        raise
    except BenchwrightError as error:
        raise BenchwrightError(
            f"the server does not take {url}: {error.message}",
            where=client.url,
            remedy="give an address it can reach with --host and --url; a server on this machine must be started with "
            "LABEL_STUDIO_ML_BLOCK_LOCAL_IP=false, as benchwright annotate up does",
        ) from error
    if client.project(project.id).get("model_version") != filled_in:
        client.update_project(project.id, model_version=filled_in or "")


def disconnect(client: Client, project: Project) -> None:
    """Remove our backend from the project, so that nobody waits for what no longer runs."""
    for backend in client.request("listing backends", "GET", "api/ml", params={"project": project.id}):
        if backend["title"] == TITLE:
            with suppress(BenchwrightError):  # gone meanwhile
                client.request("removing a backend", "DELETE", f"api/ml/{backend['id']}")
