from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchwright.core.models import Repository
from benchwright.core.tasks import load_tasks
from benchwright.core.workspace import Workspace
from benchwright.export import import_dataset, open_dataset
from benchwright.export.find_oracle import Texts, locate
from benchwright.export.release.trees import local_tree

SECTION = """\
## Boiling **water**

Fill the [kettle](docs/kettle.md) and choose a temperature with care.

```bash
python boil.py --litres 2 --degrees 95
```
"""
OTHER = "# Lantern\n\nLight the lantern after dusk and never before supper, or the moths will come.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = tmp_path / "kettle"
    (folder / "sub").mkdir(parents=True)
    (folder / "README.md").write_text(f"# Kettle\n\nAll about it.\n\n{SECTION}\n## Licence\n\nNone of your business.\n")
    (folder / "sub" / "README.md").write_text(OTHER + "\n" + SECTION)
    (folder / "code.py").write_text("print('no document')\n")

    def git(*words: str) -> str:
        identity = ("-c", "user.name=A Tester", "-c", "user.email=tester@example.org")
        return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "All there is")
    return Repository(
        name="kettle", url=folder.as_uri(), commit=git("rev-parse", "HEAD").strip(), github_id=31, license="MIT"
    )


@pytest.fixture
def texts(repository: Repository, tmp_path: Path) -> Texts:
    tree = local_tree(repository, tmp_path / "clones", [repository.url])
    assert tree is not None
    with tree:
        return Texts(tree)


@pytest.mark.parametrize(
    ("path", "document", "lines"), [("./", "README.md", (5, 10)), ("./sub", "sub/README.md", (5, 10))]
)
def test_the_same_text_is_found_nearest_to_the_folder(
    texts: Texts, path: str, document: str, lines: tuple[int, int]
) -> None:
    found = locate(SECTION, path, texts)
    assert found is not None
    assert (found.source.path, found.similarity) == (document, 1.0)
    assert (found.source.start_line, found.source.end_line) == lines


def test_marks_and_line_ends_do_not_matter(texts: Texts) -> None:
    retyped = "Boiling water\nFill the kettle (docs/kettle.md) and choose a\ntemperature with care."
    retyped += "\npython boil.py --litres 3 --degrees 95"
    found = locate(retyped, "./", texts)
    assert found is not None
    assert found.source.path == "README.md"
    assert 0.6 < found.similarity < 1


def test_line_ends_that_were_escaped_once_too_often_do_not_matter(texts: Texts) -> None:
    found = locate(SECTION.replace("\n", "\\n"), "./", texts)
    assert found is not None
    assert (found.source.start_line, found.source.end_line, found.similarity) == (5, 10, 1.0)


def test_text_of_elsewhere_is_not_found(texts: Texts) -> None:
    assert locate("Nothing like this was ever written anywhere near here.", "./", texts) is None
    assert locate("", "./", texts) is None


def test_an_import_records_the_place_of_what_it_finds(
    repository: Repository, make_row, write_rows, tmp_path: Path
) -> None:
    workspace = Workspace.create(tmp_path / "bench", [repository])
    rows = [
        make_row(1, github=repository.url, oracle=SECTION),
        make_row(2, github=repository.url, oracle="Something else entirely, which stands nowhere at all."),
    ]
    done = import_dataset(workspace, open_dataset(str(write_rows(rows))), (), [repository.url])
    assert done.located == 1
    tasks = {item.oracle: item.task for item in load_tasks(workspace)}
    assert tasks[SECTION].source_similarity == 1.0
    assert done.unplaced == {tasks[rows[1]["oracle"]].id: 0.0}
    sources = {oracle: task.source for oracle, task in tasks.items()}
    source = sources[SECTION]
    assert source is not None
    assert (source.path, source.start_line, source.end_line) == ("README.md", 5, 10)
    assert sources[rows[1]["oracle"]] is None
