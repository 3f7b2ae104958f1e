"""Where Label Studio keeps its data: SQLite in the workspace, or a PostgreSQL database of the team's."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from ..core.errors import BenchwrightError

__all__ = ["place_of", "postgresql_settings"]

SHAPE = "postgresql://USER:PASSWORD@HOST:PORT/NAME"


def postgresql_settings(address: str) -> dict[str, str]:
    """Label Studio's environment variables for the database at ``address``.

    Raises:
        BenchwrightError: it is no such address; it is not repeated, because it holds a password.
    """
    try:
        parts = urlsplit(address)
        port = parts.port or 5432
    except ValueError as error:
        raise BenchwrightError("the database's address cannot be read", remedy=f"write {SHAPE}") from error
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in ("postgresql", "postgres") or not parts.hostname or not parts.username or not name:
        raise BenchwrightError("the database's address is incomplete or no PostgreSQL's", remedy=f"write {SHAPE}")
    if parts.query or "/" in name:
        raise BenchwrightError("the database's address holds more than Label Studio can use", remedy=f"write {SHAPE}")
    return {
        "DJANGO_DB": "default",
        "POSTGRE_HOST": parts.hostname,
        "POSTGRE_PORT": str(port),
        "POSTGRE_NAME": name,
        "POSTGRE_USER": unquote(parts.username),
        "POSTGRE_PASSWORD": unquote(parts.password or ""),
    }


def place_of(settings: Mapping[str, str]) -> str:
    """The database in words, without its password."""
    if not settings:
        return "SQLite"
    return "postgresql://{POSTGRE_USER}@{POSTGRE_HOST}:{POSTGRE_PORT}/{POSTGRE_NAME}".format_map(settings)
