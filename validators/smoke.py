"""Smoke tests: an environment is shown to work by its recipe's own few lines, in a sandbox, in the repository's tree.

Comes in: a workspace and names of environments. Goes out: an outcome for each. A smoke test needs no card, whatever
the recipe asks for: it shows that the packages are there and fit, not what a card would compute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.models import Limits, Outcome, Repository
from ..core.progress import Reporter
from ..core.workspace import Workspace
from .execution import Job, Runner
from .recipes import find_recipes

__all__ = ["Smoke", "smoke"]

LIMITS = Limits(timeout_s=300, memory_bytes=4 * 1024**3, processes=512)


@dataclass(frozen=True)
class Smoke:
    """How one environment's smoke test ended."""

    name: str
    outcome: Outcome

    @property
    def said(self) -> str:
        """The last line of the output, or why there is none."""
        text = (self.outcome.output.tail or self.outcome.output.head).strip()
        return text.splitlines()[-1] if text else self.outcome.detail


def smoke(
    workspace: Workspace, names: Sequence[str], sandbox: str, mirrors: Sequence[str], reporter: Reporter
) -> Iterator[Smoke]:
    """Run the smoke tests of those of the environments whose recipes have one.

    Raises:
        PrerequisiteError: the sandbox cannot be had.
    """
    recipes = {name: recipe for name, recipe in find_recipes(workspace.environments_dir) if recipe.smoke}
    trees: dict[str | None, Repository] = {}
    for repository in workspace.repositories():
        trees.setdefault(repository.environment, repository)
    with Runner(sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, reporter=reporter) as runner:
        for name in (name for name in names if name in recipes):
            code, tree = recipes[name].smoke, trees.get(name)
            job = Job(name, code, "Python Code", repository=tree, environment=name, limits=LIMITS, gpus=0)
            yield Smoke(name, runner.execute(job))
