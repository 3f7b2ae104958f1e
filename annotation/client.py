"""Talking to a Label Studio server: every request is sent once, and a doubtful answer is told apart from a refusal.

The SDK repeats a POST whose answer was lost, which doubles tasks when the server had done the work; here its repeats
are off, and what is doubtful is raised as :class:`DoubtfulError` for the caller to look up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..core.errors import BenchwrightError, InfrastructureError, PrerequisiteError, require_extra

__all__ = ["Client", "DoubtfulError", "Server"]

ONCE = {"max_retries": 0}
TIMEOUT_S = 300.0
PAGE_SIZE = 500
LOOK_UP_SIZE = 400
"""Keys in one look-up: the filter travels in the address, whose length is limited."""

FULL = "id,data,annotations,result,completed_by,was_cancelled,created_at,updated_at,lead_time"
"""Everything a pull reads, without predictions and drafts; the server applies the list to annotations too."""


class DoubtfulError(InfrastructureError):
    """The server may or may not have done what was asked: no answer, or an answer of 500 and above."""


@dataclass(frozen=True)
class Server:
    """A Label Studio server and the key of one account on it."""

    url: str
    token: str
    """Legacy token or personal access token; never printed."""
    email: str | None = None
    password: str | None = None
    """Login of the administrator, known only for a server that ``annotate up`` started."""
    pid: int | None = None
    new: bool = False
    """True where this call made the server's data and its login, which is then shown once."""

    def __repr__(self) -> str:
        return f"Server({self.url})"

    def client(self) -> Client:
        return Client(self.url, self.token)


class Client:
    """The calls the toolkit makes, as one account. Errors name the server and what was asked, never the token."""

    def __init__(self, url: str, token: str) -> None:
        require_extra("annotation", "label_studio_sdk")
        self.url = url.rstrip("/")
        self._token = token

    @cached_property
    def _sdk(self) -> Any:
        from label_studio_sdk import LabelStudio
        from label_studio_sdk.core.api_error import ApiError

        try:
            return LabelStudio(  # type: ignore[no-untyped-call]
                base_url=self.url, api_key=self._token, timeout=TIMEOUT_S, max_retries=0
            )
        except ApiError as error:
            raise _refused(self.url, "using the key", error.status_code, error.body) from error

    # the four ways to ask ----------------------------------------------------------------------------------

    def call(self, what: str, function: Callable[[Any], Any]) -> Any:
        """``function(sdk)``, with its errors translated; ``what`` says what is being done.

        Raises:
            DoubtfulError: no answer, or a server error.
            PrerequisiteError: the key is refused.
            BenchwrightError: the server refuses the request; its words are given.
        """
        import httpx
        from label_studio_sdk.core.api_error import ApiError

        try:
            return function(self._sdk)
        except httpx.TransportError as error:
            raise DoubtfulError(
                f"{what}: no answer ({type(error).__name__})", where=self.url, remedy="see that the server runs"
            ) from error
        except ApiError as error:
            raise _refused(self.url, what, error.status_code, error.body) from error

    def request(
        self, what: str, method: str, path: str, *, body: Any = None, params: Mapping[str, Any] | None = None
    ) -> Any:
        """One request that the SDK has no faster or no method for; the answer's JSON (None where it is empty).

        Parsing pages of tasks into the SDK's models takes three times as long as the server needs to send them.
        """
        from label_studio_sdk.core.api_error import ApiError

        def send(sdk: Any) -> Any:
            http = sdk._client_wrapper.httpx_client
            answer = http.request(path, method=method, json=body, params=dict(params or {}), request_options=ONCE)
            if not answer.is_success:
                raise ApiError(status_code=answer.status_code, body=answer.text)
            try:
                return answer.json() if answer.content else None
            except ValueError as error:
                raise ApiError(status_code=502, body="the answer is not JSON") from error

        return self.call(what, send)

    # accounts and projects ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise unless the server answers and accepts the key."""
        self.request("asking who the key belongs to", "GET", "api/current-user/whoami")

    def emails(self) -> dict[int, str]:
        """User id -> e-mail address of everyone with an account."""
        return {user["id"]: user["email"] for user in self.request("listing accounts", "GET", "api/users")}

    def projects(self) -> list[dict[str, Any]]:
        """All projects with ``id``, ``title`` and ``description``."""
        found: list[dict[str, Any]] = []
        page = 1
        while True:
            params = {"page": page, "page_size": PAGE_SIZE, "include": "id,title,description"}
            answer = self.request("listing projects", "GET", "api/projects", params=params)
            found += answer["results"]
            if not answer["next"]:
                return found
            page += 1

    def create_project(self, **fields: Any) -> int:
        """Make a project and give its id."""
        return int(self.call("making a project", lambda sdk: sdk.projects.create(**fields, request_options=ONCE)).id)

    def update_project(self, project: int, **fields: Any) -> None:
        self.call("updating the project", lambda sdk: sdk.projects.update(project, **fields, request_options=ONCE))

    def project(self, project: int) -> dict[str, Any]:
        """The project's settings and its ``task_number``."""
        return dict(self.request("reading the project", "GET", f"api/projects/{project}"))

    # tasks -------------------------------------------------------------------------------------------------

    def import_tasks(self, project: int, tasks: Sequence[Mapping[str, Any]]) -> list[int]:
        """Import all of ``tasks`` or none; their ids, in order."""
        answer = self.request(
            f"importing {len(tasks)} tasks",
            "POST",
            f"api/projects/{project}/import",
            body=list(tasks),
            params={"return_task_ids": "true"},
        )
        return [int(task) for task in answer["task_ids"]]

    def update_task(self, task: int, data: Mapping[str, Any]) -> None:
        self.request("updating a task", "PATCH", f"api/tasks/{task}", body={"data": data})

    def delete_task(self, task: int) -> None:
        self.request("removing a task", "DELETE", f"api/tasks/{task}")

    def replace_predictions(self, task: int, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Make ``predictions`` the only ones of ``task``."""
        old = self.request("reading predictions", "GET", "api/predictions", params={"task": task})
        for item in predictions:
            self.request("storing a prediction", "POST", "api/predictions", body={**item, "task": task})
        for item in old:
            self.request("removing a prediction", "DELETE", f"api/predictions/{item['id']}")

    def tasks(
        self, project: int, include: str, *, full: bool = False, filters: Sequence[Mapping[str, Any]] = ()
    ) -> Iterator[dict[str, Any]]:
        """The project's tasks page by page, with the fields of ``include``; ``full`` gives annotations too.

        Raises:
            InfrastructureError: a page is missing although the first one announced it.
        """
        params: dict[str, Any] = {"project": project, "include": include, "page_size": PAGE_SIZE, "page": 1}
        if full:
            params["fields"] = "all"
        if filters:
            params["query"] = json.dumps({"filters": {"conjunction": "and", "items": list(filters)}})
        total, given = 1, 0
        while given < total:
            answer = self.request("listing tasks", "GET", "api/tasks", params=params)
            total = answer["total"]
            yield from answer["tasks"]
            given += len(answer["tasks"])
            if not answer["tasks"] and given < total:
                raise InfrastructureError(
                    f"the list of tasks ended after {given} of {total}", where=self.url, remedy="run it again"
                )
            params["page"] += 1

    def count_drafts(self, project: int) -> int:
        """How many of the project's tasks hold something that somebody typed and did not submit."""
        condition = {"filter": "filter:tasks:draft_exists", "operator": "equal", "type": "Boolean", "value": True}
        query = json.dumps({"filters": {"conjunction": "and", "items": [condition]}})
        params = {"project": project, "include": "id", "page_size": 1, "page": 1, "query": query}
        return int(self.request("counting drafts", "GET", "api/tasks", params=params)["total"])

    def find_tasks(self, project: int, key: str, values: Sequence[str | int], include: str) -> list[dict[str, Any]]:
        """Tasks whose ``data.KEY`` (or ``id``) is one of ``values``."""
        field = "id" if key == "id" else f"data.{key}"
        found: list[dict[str, Any]] = []
        for start in range(0, len(values), LOOK_UP_SIZE):
            part = list(values[start : start + LOOK_UP_SIZE])
            condition = {"filter": f"filter:tasks:{field}", "operator": "in_list", "type": "List", "value": part}
            found += self.tasks(project, include, full=include == FULL, filters=(condition,))
        return found


def _refused(url: str, what: str, status: int | None, body: Any) -> BenchwrightError:
    if isinstance(body, str):
        with suppress(ValueError):
            body = json.loads(body)
    words = [body.get("detail", body), body.get("validation_errors", "")] if isinstance(body, dict) else [body]
    said = " ".join(" ".join(str(word) for word in words).split())[:300]
    if status in (401, 403):
        return PrerequisiteError(
            f"{what}: the server refuses the key (HTTP {status})",
            where=url,
            remedy="set LABEL_STUDIO_API_KEY to a token from Account & Settings of that server",
        )
    if status is None or status >= 500 or status in (408, 429):
        return DoubtfulError(f"{what}: HTTP {status}: {said}", where=url, remedy="see the server's log, run it again")
    return BenchwrightError(f"{what}: the server answers HTTP {status}: {said}", where=url)
