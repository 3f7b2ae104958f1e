"""The base of everything written to disk: strict fields, a schema version, pure upgrades of old versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import BenchwrightError

__all__ = ["Part", "Record", "Upgrade", "explain"]

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


class Part(BaseModel):
    """A piece of a record: immutable, and refusing fields it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Record(Part):
    """A document on disk. ``UPGRADES[n]`` is a pure function from the fields of version n to those of n + 1."""

    SCHEMA_VERSION: ClassVar[int] = 1
    UPGRADES: ClassVar[Mapping[int, Upgrade]] = {}

    schema_version: int = 1

    @classmethod
    def load(cls, data: Mapping[str, Any], where: str) -> Self:
        """Check ``data`` (upgraded first if it is of an older version) and make the record.

        Raises:
            BenchwrightError: no table, an unknown version, or fields missing, unknown or of the wrong type; ``where``
                is named.
        """
        if not isinstance(data, Mapping):  # files are read as whatever they hold
            raise BenchwrightError(
                f"a {cls.__name__} is a table of fields, not {type(data).__name__}", where=where, remedy="correct it"
            )
        fields = dict(data)
        version = fields.get("schema_version", 1)
        if not isinstance(version, int) or not 1 <= version <= cls.SCHEMA_VERSION:
            raise BenchwrightError(
                f"schema_version {version!r} of a {cls.__name__} is unknown here (newest known: {cls.SCHEMA_VERSION})",
                where=where,
                remedy="upgrade benchwright: pip install -U benchwright",
            )
        while version < cls.SCHEMA_VERSION:
            fields = cls.UPGRADES[version](fields)
            version += 1
        fields["schema_version"] = version
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise BenchwrightError(explain(error), where=where, remedy="correct the fields named") from error


def explain(error: ValidationError) -> str:
    """One line for each field that is wrong, without the values (they may be long or secret)."""
    return "; ".join(
        f"{'.'.join(str(part) for part in item['loc']) or 'the whole'}: {item['msg']}" for item in error.errors()
    )
