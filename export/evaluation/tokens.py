"""Counting tokens without a tokenizer: an estimate whose error is known, the same on every machine.

Tokenizers belong to models, and their vocabularies are megabytes that the base installation would have to carry. Text
is cut here where byte-pair tokenizers cut it before they look into a vocabulary (words, capitals inside words, groups
of digits, runs of signs and of white space), long pieces are cut again, and five per cent are added for words that a
vocabulary does not have. Measured against ``cl100k_base`` on two stretches of text of each of ML-Bench's eighteen
repositories: between 6 % too many and 18 % too few, half of them within 2 %; four characters a token, as is often
assumed, is wrong by up to half. What an endpoint says of its own tokens always goes before the estimate.
"""

from __future__ import annotations

import math
import re
from itertools import islice

__all__ = ["TOKENIZER", "count_tokens", "cut_at"]

TOKENIZER = "estimate by pieces, version 1"
"""The name under which counts and cuts are recorded."""

LONGEST = 128
"""Characters that one piece has at most."""
PIECES = 20
TOKENS = 21
"""So many tokens are counted for so many pieces."""

_WORD = r"(?:[A-Z]{1,3}(?![a-z])|[A-Z]?[a-z]{1,8}|[^\W\d_])"
_PIECE = re.compile(
    rf"[^\r\n\w]?{_WORD}|_{_WORD}|\d{{1,3}}| ?[^\s\w]{{1,4}}[\r\n]{{0,8}}|_{{1,6}}"
    r"|\s{0,64}[\r\n]{1,64}|\s{1,64}(?!\S)|\s{1,64}"
)


def count_tokens(text: str) -> int:
    """About how many tokens a model's tokenizer makes of ``text``."""
    return math.ceil(sum(1 for _ in _PIECE.finditer(text)) * TOKENS / PIECES)


def cut_at(text: str, tokens: int) -> str:
    """The beginning of ``text`` that has at most ``tokens`` tokens, by the same estimate."""
    beyond = next(islice(_PIECE.finditer(text), tokens * PIECES // TOKENS, None), None)
    return text if beyond is None else text[: beyond.start()]
