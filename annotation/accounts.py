"""Accounts of annotators on a server: made through its invitation link, each with a password and a token of its own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ..core.errors import BenchwrightError, InfrastructureError
from .client import Client, Server

__all__ = ["Account", "create"]


@dataclass(frozen=True)
class Account:
    """One annotator's account; ``password`` is shown once and kept nowhere."""

    url: str
    email: str
    password: str
    token: str

    def __repr__(self) -> str:
        return f"Account({self.email} at {self.url})"

    def client(self) -> Client:
        """Calls as this annotator."""
        return Client(self.url, self.token)


def create(server: Server, email: str, password: str | None = None) -> Account:
    """Make an account, or use the one that is there with this password; None: a random one.

    Raises:
        BenchwrightError: the server refuses the address or password, or the account has another password.
        InfrastructureError: the server does not answer.
    """
    import httpx

    password = password or secrets.token_urlsafe(12)
    there = email.casefold() in {known.casefold() for known in server.client().emails().values()}
    try:
        with httpx.Client(base_url=server.url, timeout=60, headers={"Referer": server.url}) as session:
            if there:
                path, params = "/user/login/", {}
            else:
                invitation = server.client().request("asking for an invitation", "GET", "api/invite")
                path, params = "/user/signup/", {"token": invitation["token"]}
            session.get(path, params=params)
            form = {"email": email, "password": password, "csrfmiddlewaretoken": session.cookies.get("csrftoken", "")}
            answer = session.post(path, params=params, data=form)
            if answer.status_code != 302:
                raise BenchwrightError(
                    "the account is there with another password" if there else "the server refuses this account",
                    where=f"{email} at {server.url}",
                    remedy="name another address, or a password of at least eight characters",
                )
            if not there and server.pid:
                # our server's log shows the address of the request, and with it the invitation: make it void
                server.client().request("voiding the invitation", "POST", "api/invite/reset-token")
            return Account(server.url, email, password, _token(session, server.url))
    except httpx.TransportError as error:
        raise InfrastructureError(
            f"no answer ({type(error).__name__})", where=server.url, remedy="benchwright annotate up"
        ) from error


def _token(session: object, url: str) -> str:
    """The legacy token where the server permits them, else a new personal access token."""
    import httpx

    assert isinstance(session, httpx.Client)
    headers = {"X-CSRFToken": str(session.cookies.get("csrftoken", ""))}
    if session.get("/api/jwt/settings").json().get("legacy_api_tokens_enabled"):
        return str(session.get("/api/current-user/token").json()["token"])
    answer = session.post("/api/token/", headers=headers)
    if answer.status_code == 409:  # there is one, and it cannot be read again: replace it
        for old in session.get("/api/token/").json():
            session.post("/api/token/blacklist/", json={"refresh": old["token"]}, headers=headers)
        answer = session.post("/api/token/", headers=headers)
    if answer.status_code != 201:
        raise InfrastructureError(f"the server gives no token (HTTP {answer.status_code})", where=url)
    return str(answer.json()["token"])
