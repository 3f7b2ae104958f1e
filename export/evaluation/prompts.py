"""What a model is asked: one user message for each example, in one of ML-LLM-Bench's settings.

``code`` gives the repository's files, README files first, cut at a number of tokens; ``retrieval`` the passage that
BM25 finds for the instruction; ``oracle`` the README segment that the task was made from; ``none`` the instruction
alone. The wording is our own and the same as that of the training examples (``export.chat``). The commit is the
release's, and the order of files is defined, so a prompt is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...core.files import digest_of
from ..chat import Contexts, question_of
from ..dataset import Dataset
from ..rows import Row
from .tokens import LONGEST, count_tokens, cut_at

__all__ = ["CONTEXT_TOKENS", "SETTINGS", "Prompt", "Prompts"]

SETTINGS = ("code", "retrieval", "oracle", "none")
CONTEXT_TOKENS = 20_000
"""Tokens of files in the ``code`` setting: a model with 32k tokens keeps room for the question and 8k of answer."""


@dataclass(frozen=True)
class Prompt:
    """What is sent for one example."""

    row: Row
    text: str

    @property
    def messages(self) -> list[dict[str, str]]:
        """The conversation as chat endpoints take it."""
        return [{"role": "user", "content": self.text}]

    @cached_property
    def digest(self) -> str:
        """SHA-256 that says whether two prompts are the same."""
        return digest_of(self.messages)

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it has (``tokens.TOKENIZER``)."""
        return count_tokens(self.text)

    def value(self) -> dict[str, Any]:
        return {
            "github_id": self.row.github_id,
            "id": self.row.id,
            "repository": self.row.github,
            "tokens": self.tokens,
            "messages": self.messages,
        }


class Prompts:
    """The prompts of a release's examples in one setting; a repository is read when its first example asks for it."""

    def __init__(
        self,
        dataset: Dataset,
        rows: Sequence[Row],
        setting: str,
        context_tokens: int = CONTEXT_TOKENS,
        mirrors: Sequence[str] = (),
    ) -> None:
        self.setting = setting
        self._tokens = context_tokens
        self._contexts = Contexts(dataset, rows, context_tokens * LONGEST, mirrors)
        self._cut: dict[str, str] = {}

    def of(self, row: Row) -> Prompt:
        """The prompt of ``row``.

        Raises:
            BenchwrightError: no commit is known for its repository, or the repository cannot be had.
            PrerequisiteError: the setting ``retrieval`` without the extra ``curation``.
        """
        context = self._contexts.of(row, self.setting)
        if self.setting == "code":
            # all examples of a repository share one long text: it is cut once
            repository = f"{row.github}@{row.commit}"
            if repository not in self._cut:
                self._cut[repository] = cut_at(context, self._tokens)
            context = self._cut[repository]
        return Prompt(row, question_of(row, self.setting, context))
