"""How the size of context is counted."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...core.errors import require_extra

__all__ = ["TOKENIZER", "count_tokens"]

TOKENIZER = "cl100k_base"
"""The tokenizer by which tokens are counted; its vocabulary comes with the package quicktok, nothing is downloaded."""


def count_tokens(text: str) -> int:
    """Tokens of ``text`` by :data:`TOKENIZER`."""
    return int(_encoding().count(text.encode("utf-8", "replace").decode()))  # paths may hold lone surrogates


@lru_cache(maxsize=1)
def _encoding() -> Any:
    require_extra("curation", "quicktok")
    import quicktok

    return quicktok.get_encoding(TOKENIZER)
