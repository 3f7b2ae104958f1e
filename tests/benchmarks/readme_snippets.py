"""Every snippet that curation finds in a repository, executed in its environment: a table of outcomes and reasons.

    python tests/benchmarks/readme_snippets.py WORKSPACE REPOSITORY [SANDBOX]

Not a comparison of speed: it says what share of a repository's own documentation works as it stands. The reason for
each that does not pass is the last line it wrote, without the numbers in it, so that like fall together.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

from benchwright.core.models import Candidate, Limits, Outcome
from benchwright.core.progress import Reporter
from benchwright.core.workspace import Workspace
from benchwright.validators.execution import Job, Runner

LIMITS = Limits(timeout_s=120, memory_bytes=6 * 1024**3, processes=512)


def jobs(workspace: Workspace, name: str) -> list[tuple[Candidate, Job]]:
    (repository,) = workspace.repositories([name])
    with workspace.open_store() as store:
        candidates = list(store.candidates([name]))
    return [
        (
            candidate,
            Job(
                key=candidate.id,
                code=candidate.output,
                type=candidate.type,
                path=candidate.path,
                prefix_code=candidate.prefix_code,
                repository=repository,
                environment=repository.environment or workspace.config.environment,
                limits=LIMITS,
            ),
        )
        for candidate in candidates
    ]


def reason(outcome: Outcome) -> str:
    said = (outcome.output.tail or outcome.output.head).strip().splitlines()
    last = said[-1] if said and outcome.outcome == "failed" else outcome.detail
    return re.sub(r"\d+", "N", last)[:140]


def main() -> None:
    if len(sys.argv) < 3:
        print("skipped: it needs a workspace with candidates and the name of a repository", file=sys.stderr)
        return
    workspace = Workspace.find(Path(sys.argv[1]))
    wanted = jobs(workspace, sys.argv[2])
    of = {job.key: candidate for candidate, job in wanted}
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    sandbox = sys.argv[3] if len(sys.argv) > 3 else "bubblewrap"
    mirrors = workspace.config.mirrors
    with Runner(
        sandbox, workspace.environments_dir, workspace.clones_dir, mirrors, workers=2, reporter=Reporter()
    ) as run:
        for job, outcome in run.run(job for _, job in wanted):
            source = of[job.key].source
            where = f"{source.path}:{source.start_line} {' > '.join(source.heading[-1:])}"
            passed = outcome.outcome == "passed"
            groups[outcome.outcome.value, "" if passed else reason(outcome)].append(where)
            print(json.dumps({"at": where, "outcome": outcome.outcome, "said": reason(outcome)}), flush=True)
    for (kind, why), places in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(places):4} {kind:12} {why}", *(f"       {place}" for place in places[:3] if why), sep="\n")
    print(f"{sum(len(p) for (kind, _), p in groups.items() if kind == 'passed')} of {len(wanted)} passed in {sandbox}")


if __name__ == "__main__":
    main()
