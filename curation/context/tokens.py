"""How the size of context is counted."""

from __future__ import annotations

__all__ = ["TOKENIZER", "count_tokens"]

TOKENIZER = "utf8-bytes/3"
"""The count used: one token for every three UTF-8 bytes, rounded up.

Tokenizers of current models take between 3 and 4.5 bytes of Python a token, so a text within a budget by this count is
within it by theirs; and it needs no data files.
"""


def count_tokens(text: str) -> int:
    """Tokens of ``text`` by :data:`TOKENIZER`."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 3)
