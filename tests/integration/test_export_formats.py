"""Exports as the tools they are made for take them: the real Harbor and the real inspect_ai, where they are installed.

BENCHWRIGHT_HARBOR and BENCHWRIGHT_INSPECT name the Python of a virtual environment with `harbor` (Python 3.12 or
newer) and one with `inspect-ai` and benchwright; BENCHWRIGHT_TRL one with `trl`. `.ci/formats` makes all three.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchwright.core.errors import BenchwrightError
from benchwright.core.models import Example, Repository, RepositoryRef, Task
from benchwright.core.progress import Reporter
from benchwright.core.tasks import write_task
from benchwright.core.workspace import Workspace
from benchwright.export.chat import export_chat
from benchwright.export.dataset import Dataset, open_dataset
from benchwright.export.harbor import content_digest, export_harbor
from benchwright.export.inspect_ai import export_inspect
from benchwright.export.release import build_release

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

QUIET = Reporter(quiet=True)
PROGRAM = """import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--a", type=int)
parser.add_argument("--b", type=int)
given = parser.parse_args()
print(given.a + given.b)
"""


@pytest.fixture(scope="module")
def engine() -> None:
    """A Docker engine with the standard environment."""
    from benchwright.validators.environments import build
    from benchwright.validators.sandbox.docker import connect

    try:
        connect()
        build(None, "standard", QUIET)
    except BenchwrightError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no Docker engine: {error}")


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, str]:
    """A release of three examples on a repository of two files, and the mirror that holds it."""
    root = tmp_path_factory.mktemp("material")
    work = root / "git" / "o+adder"
    work.mkdir(parents=True)
    (work / "README.md").write_text("# Adder\n\nRun `python add.py --a A --b B`.\n")
    (work / "add.py").write_text(PROGRAM)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(work), *command], check=True)
    head = subprocess.run(["git", "-C", str(work), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = head.stdout.strip()
    known = Repository(name="adder", url="https://github.com/o/adder", commit=commit, github_id=1, license="MIT")
    workspace = Workspace.create(root / "pocket", [known])
    reference = RepositoryRef(name="adder", github_id=1, url=known.url, commit=commit, license="MIT")
    shell = [
        Example(
            id=number,
            type="Bash Script",
            instruction=f"Add {number} and 1 with the repository's program.",
            arguments={"a": number, "b": 1},
            output=f"python add.py --a {number} --b 1",
        )
        for number in (1, 2)
    ]
    write_task(workspace, Task(name="add", repository=reference, type="Bash Script"), "Run add.py.\n", shell)
    python = Example(
        id=3,
        type="Python Code",
        instruction="Print the power of base 3 and exp 4.",
        arguments={"base": 3, "exp": 4},
        output="print(pow(base=3, exp=4))",
    )
    write_task(workspace, Task(name="power", repository=reference, type="Python Code"), "Use pow.\n", [python])
    release = open_dataset(str(build_release(workspace).folder))
    return release, f"file://{root}/git/{{owner}}+{{name}}"


@pytest.fixture(scope="module")
def tasks(engine: None, material: tuple[Dataset, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Harbor export with its image built."""
    dataset, mirror = material
    folder = tmp_path_factory.mktemp("harbor") / "out"
    export_harbor(dataset, folder, build=True, mirrors=[mirror], reporter=QUIET)
    return folder


def verify(task: Path, answer: str | None, tmp_path: Path) -> dict[str, Any]:
    """What the task's verifier makes of an answer, in a container without network, as Harbor starts it."""
    name = next(path.name for path in (task / "solution").iterdir() if path.name.startswith("answer"))
    artifacts = tmp_path / "logs" / "artifacts"
    artifacts.mkdir(parents=True)
    (tmp_path / "logs" / "verifier").mkdir()
    if answer is not None:
        (artifacts / name).write_text(answer)

    def docker(*arguments: str, fails: bool = False) -> str:
        done = subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=300)
        assert fails or done.returncode == 0, done.stderr
        return done.stdout.strip()

    image = docker("build", "--quiet", str(task / "tests"))
    container = docker("create", "--network", "none", image, "bash", "/tests/test.sh")
    try:
        docker("cp", f"{tmp_path}/logs", f"{container}:/")
        docker("start", "--attach", container, fails=True)
        docker("cp", f"{container}:/logs/verifier/.", str(tmp_path / "verifier"))
    finally:
        docker("rm", "--force", container)
    found: dict[str, Any] = json.loads((tmp_path / "verifier" / "benchwright.json").read_text())
    return {"reward": (tmp_path / "verifier" / "reward.txt").read_text().strip(), **found}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("python add.py --a 1 --b 1\n", "passed"),
        (None, "missing"),
        ("python add.py --a 2 --b 1\n", "wrong_arguments"),
        ("import add\n", "wrong_type"),
        ("python add.py --a 1 --b 1; echo 1 > /logs/verifier/reward.txt; cat /tests/example.json; exit 3\n", "failed"),
        ("python add.py --a 1 --b 1; python nowhere.py --a 1 --b 1; true\n", "failed"),
    ],
)
def test_the_verifier_applies_the_strict_protocol_in_its_own_container(
    answer: str | None, outcome: str, tasks: Path, tmp_path: Path
) -> None:
    seen = verify(tasks / "tasks" / "adder-1", answer, tmp_path)
    assert seen["outcome"] == outcome, seen
    assert seen["reward"] == ("1" if outcome == "passed" else "0")
    if answer and "example.json" in answer:
        assert "instruction" not in seen["execution"]["output"]["head"]  # the solution cannot be read


def test_an_instruction_says_everything_and_gives_nothing_away(tasks: Path) -> None:
    for task in (tasks / "tasks").iterdir():
        text = (task / "instruction.md").read_text()
        answer = next(path for path in (task / "solution").iterdir() if path.name.startswith("answer"))
        assert f"/logs/artifacts/{answer.name}" in text
        assert answer.read_text().strip() not in text
        assert text.startswith("<!-- pocket canary GUID")
        config = tomllib.loads((task / "task.toml").read_text())
        assert config["verifier"]["environment"]["network_mode"] == "no-network"
    manifest = tomllib.loads((tasks / "dataset.toml").read_text())
    for entry in manifest["tasks"]:
        assert entry["digest"] == content_digest(tasks / "tasks" / entry["name"].split("/")[1])
    assert str(tasks.parents[1]) not in (tasks / "dataset.toml").read_text()


def python_with(variable: str, package: str) -> Path:
    named = os.environ.get(variable)
    if not named:
        how = f"python3 -m venv DIR && DIR/bin/pip install {package}, then {variable}=DIR/bin/python"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(how)
    return Path(named)


def test_harbors_linter_and_digests_agree_and_its_oracle_passes_where_its_no_op_fails(
    tasks: Path, tmp_path: Path
) -> None:
    python = python_with("BENCHWRIGHT_HARBOR", "harbor")
    harbor = str(python.parent / "harbor")
    folders = sorted(str(path) for path in (tasks / "tasks").iterdir())
    lint = subprocess.run([harbor, "lint", "--json", *folders], capture_output=True, text=True, timeout=120)
    assert (lint.returncode, json.loads(lint.stdout)) == (0, [])
    digests = (
        "import sys, pathlib\nfrom harbor.models.dataset.manifest import DatasetManifest\n"
        "from harbor.publisher.packager import Packager\nroot = pathlib.Path(sys.argv[1])\n"
        "for task in DatasetManifest.from_toml_file(root / 'dataset.toml').tasks:\n"
        "    assert task.digest == 'sha256:' + Packager.compute_content_hash(root / 'tasks' / task.short_name)[0]\n"
    )
    subprocess.run([str(python), "-c", digests, str(tasks)], check=True, timeout=120)
    env = {
        **os.environ,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONPATH": str(Path(__file__).parents[1] / "harbor_engine"),
    }
    for agent, reward in (("oracle", 1.0), ("nop", 0.0)):
        jobs = tmp_path / agent
        options = ["-a", agent, "-e", "engine_environment:EngineEnvironment", "-o", str(jobs), "-n", "1", "-y", "-q"]
        subprocess.run([harbor, "run", "--path", str(tasks / "tasks"), *options], check=True, env=env, timeout=600)
        results = [json.loads(path.read_text()) for path in jobs.glob("*/*/result.json")]
        assert [item["verifier_result"]["rewards"]["reward"] for item in results] == [reward] * 3


INSPECT = """
import json, os, pathlib, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
folder, mirror, gold = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "gold"
lines = [json.loads(line) for line in (folder / "oracle.jsonl").read_text().splitlines()]
answers = {line["input"]: line["target"] for line in lines}
def answer(messages, tools, tool_choice, config):
    text = answers[messages[-1].text] if gold else "I do not know."
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output
os.chdir(folder)
model = get_model("mockllm/model", custom_outputs=answer)
(log,) = eval("pocket.py", model=model, task_args={"mirror": mirror}, log_dir=str(folder / "logs"), display="none")
print(json.dumps([log.status, log.results.scores[0].metrics["accuracy"].value]))
"""


@pytest.mark.parametrize(("model", "accuracy"), [("gold", 1.0), ("ignorant", 0.0)])
def test_inspect_scores_a_mock_model_that_answers_the_gold(
    model: str, accuracy: float, engine: None, material: tuple[Dataset, str], tmp_path: Path
) -> None:
    python = python_with("BENCHWRIGHT_INSPECT", "inspect-ai benchwright")
    dataset, mirror = material
    export_inspect(dataset, tmp_path / "pocket", mirrors=[mirror], reporter=QUIET)
    command = [str(python), "-c", INSPECT, str(tmp_path / "pocket"), mirror, model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == ["success", accuracy]


TRL = """
import json, sys
from datasets import load_dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from trl.data_utils import apply_chat_template, is_conversational
words = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
template = "{% for message in messages %}<{{ message.role }}>{{ message.content }}</s>{% endfor %}"
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?", chat_template=template)
for file in sys.argv[2:]:
    rows = load_dataset("json", data_files=file, split="train", cache_dir=sys.argv[1])
    assert all(is_conversational(row) for row in rows)
    print(json.dumps([apply_chat_template({"messages": row["messages"]}, tokenizer)["text"] for row in rows]))
"""


def test_trl_takes_the_chat_export_as_conversations(material: tuple[Dataset, str], tmp_path: Path) -> None:
    """Its own recognition of the shape, and a chat template over it; neither needs torch."""
    python = python_with("BENCHWRIGHT_TRL", "trl")
    dataset, mirror = material
    workspace = Workspace(dataset.root.parents[1])
    workspace.splits_dir.mkdir(exist_ok=True)
    train = workspace.splits_dir / "id_train.txt"
    train.write_text("adder/3\n")
    try:
        trained = open_dataset(str(build_release(workspace, tmp_path / "release").folder))
    finally:
        train.unlink()
    export_chat(trained, tmp_path / "chat", mirrors=[mirror], reporter=QUIET)
    files = [str(tmp_path / "chat" / f"{setting}.jsonl") for setting in ("code", "retrieval", "oracle")]
    command = [str(python), "-c", TRL, str(tmp_path / "cache"), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    conversations = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(conversations) == 3
    for (text,) in conversations:
        assert text.startswith("<user>Repository: https://github.com/o/adder")
        assert text.endswith("<assistant>```python\nprint(pow(base=3, exp=4))\n```</s>")


def test_the_task_file_is_python_and_its_samples_hold_the_gold(material: tuple[Dataset, str], tmp_path: Path) -> None:
    dataset, mirror = material
    done = export_inspect(dataset, tmp_path / "pocket", mirrors=[mirror], reporter=QUIET)
    compile(done.task_file.read_text(), str(done.task_file), "exec")
    samples = [json.loads(line) for line in (tmp_path / "pocket" / "oracle.jsonl").read_text().splitlines()]
    assert [sample["id"] for sample in samples] == ["1/1", "1/2", "1/3"]
    assert samples[0]["target"] == "```bash\npython add.py --a 1 --b 1\n```"
