"""Which values reach a Python snippet's calls, and which are only mentioned."""

from __future__ import annotations

from typing import Any

import pytest

from benchwright.validators.arguments import Verdict, check_arguments

GOLD = """
import torch
from model.attention.Halo import HaloAttention

x = torch.randn(50, 49, 512)
layer = HaloAttention(dim=512, heads=8)
print(layer(x).shape)
"""
INDENTED = "".join(f"    {line}\n" for line in GOLD.splitlines())
WANTED = {"argument": "HaloAttention", "data": "(50,49,512)", "heads": "8"}


def judged(code: str, arguments: dict[str, Any], reference: str | None = None) -> Verdict:
    return check_arguments(code, "Python Code", arguments, reference=reference)


@pytest.mark.parametrize(
    "code",
    [
        GOLD,
        GOLD.replace("50, 49, 512", "*size").replace("x =", "size = (50, 49, 512)\nx ="),
        GOLD.replace("heads=8", "heads=n").replace("layer =", "n = 8\nlayer ="),
        GOLD.replace("heads=8", "heads=2 * 4"),
        GOLD.replace("dim=512, heads=8", "**kw").replace("layer =", "kw = {'dim': 512, 'heads': 8}\nlayer ="),
        GOLD.replace("dim=512, heads=8", "**kw").replace("layer =", "kw = dict(dim=512, heads=8.0)\nlayer ="),
        "def main():\n" + INDENTED + "\nif __name__ == '__main__':\n    main()\n",
        "if __name__ == '__main__':\n" + INDENTED,
        GOLD.replace("from model.attention.Halo import HaloAttention", "import model.attention.Halo as m").replace(
            "= HaloAttention", "= m.HaloAttention"
        ),
        "!pip install torch\n" + GOLD,
    ],
)  # fmt: skip
def test_the_same_use_written_differently_is_accepted(code: str) -> None:
    assert judged(code, WANTED).accepted, judged(code, WANTED)
    assert judged(code, WANTED, GOLD).accepted, judged(code, WANTED, GOLD)


@pytest.mark.parametrize(
    "code",
    [
        GOLD.replace("heads=8", "heads=4"),
        GOLD.replace("heads=8", "heads=4  # heads=8"),
        GOLD.replace("heads=8", "heads=4") + "print('heads=8')\nprint(8)\n",
        GOLD.replace("heads=8", "heads=4") + '"""heads=8"""\n',
        GOLD.replace("heads=8", "heads=4").replace("layer =", "heads = 8\nlayer ="),
        GOLD.replace("heads=8", "heads=n").replace("layer =", "n = 8\nn = 4\nlayer ="),
        GOLD.replace("heads=8", "heads=4") + "if False:\n    HaloAttention(dim=512, heads=8)\n",
        GOLD.replace("heads=8", "heads=4") + "def never():\n    HaloAttention(dim=512, heads=8)\n",
        GOLD.replace("heads=8", "heads=4") + "exit()\nHaloAttention(dim=512, heads=8)\n",
        GOLD.replace("dim=512, heads=8", "dim=8, heads=512"),
        GOLD.replace("50, 49, 512", "49, 50, 512"),
        GOLD.replace("HaloAttention", "OtherAttention").replace("Halo ", "Other "),
        GOLD + "this is how it works\n",
        "python run.py --heads 8",
        "x = 'HaloAttention(dim=512, heads=8) (50,49,512)'",
    ],
)
def test_a_snippet_that_only_mentions_the_values_is_refused(code: str) -> None:
    assert not judged(code, WANTED).accepted
    assert not judged(code, WANTED, GOLD).accepted


def test_a_refusal_names_the_argument_the_wanted_and_the_found() -> None:
    (problem,) = judged(GOLD.replace("heads=8", "heads=4"), WANTED).problems
    assert (problem.argument, problem.wanted, problem.found) == ("heads", "8", 4)


LOAD = """
from PIL import Image
from pack.models import load
model, prepare, _ = load(name='blip_vqa', model_type='vqav2', is_eval=True)
image = prepare(Image.open('./data/cat.jpg').convert('RGB'))
answer = model.ask({'image': image, 'text': 'What does the cat wear?'})
"""


@pytest.mark.parametrize(
    ("arguments", "accepted"),
    [
        ({"model": "blip_vqa", "type": "vqav2", "img_path": "./data/cat.jpg"}, True),
        ({"model": "blip"}, True),
        ({"model": "albef"}, False),
        ({"argument1": "vqa", "argument2": "cat", "argument": "load"}, True),
        ({"argument1": "hat"}, False),
        ({"argument1": "dog"}, False),
        ({"img_path": "data/cat.jpg"}, True),
        ({"img_path": "./data/dog.jpg"}, False),
        ({"is_eval": "True"}, True),
        ({"is_eval": False}, False),
        ({"model_type": "vqav1"}, False),
    ],
)
def test_names_that_are_no_parameters_are_bound_by_value_and_kind(arguments: dict[str, Any], accepted: bool) -> None:
    assert judged(LOAD, arguments).accepted is accepted


def test_a_value_given_to_another_parameter_than_in_the_example_is_refused() -> None:
    swapped = LOAD.replace("'blip_vqa'", "'X'").replace("'vqav2'", "'blip_vqa'").replace("'X'", "'vqav2'")
    assert not judged(swapped, {"model": "blip_vqa", "type": "vqav2"}, LOAD).accepted


def test_values_reach_calls_through_variables_loops_and_containers() -> None:
    code = "rates = [0.1, 0.2]\nfor rate in rates:\n    fit(rate)\ndata = [('p1', 'MKTV')]\nconvert(data)\n"
    assert judged(code, {"argument1": "MKTV"}).accepted
    assert judged(code, {"argument1": 0.2}).accepted
    assert not judged(code, {"argument1": 0.3}).accepted


class Package:
    """A repository that defines what a snippet calls, behind an ``__init__`` that imports it."""

    files = {  # noqa: RUF012
        "nets/__init__.py": "from .heads import *\nfrom .load import load as fetch\n",
        "nets/heads.py": "class Base:\n    def __init__(self, dim, heads=1): ...\nclass MultiHead(Base): ...\n",
        "nets/load.py": "def load(name, kind, *, strict=False): ...\n",
    }

    def paths(self) -> list[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes | None:
        return self.files[path].encode() if path in self.files else None


PACKAGE = Package()


@pytest.mark.parametrize(
    ("code", "accepted"),
    [
        ("from nets.heads import MultiHead\nMultiHead(512, 8)", True),
        ("from nets import MultiHead\nMultiHead(dim=512, heads=8)", True),
        ("from nets.heads import *\nMultiHead(512, heads=8)", True),
        ("from nets import MultiHead\nMultiHead(8, 512)", False),
        ("from nets import MultiHead\nMultiHead(512, 4)\nprint(8)", False),
    ],
)
def test_values_by_position_count_under_the_parameters_names(code: str, accepted: bool) -> None:
    arguments = {"heads": 8, "dim": "512", "model": "MultiHead"}
    assert check_arguments(code, "Python Code", arguments, files=PACKAGE).accepted is accepted
    gold = "from nets import MultiHead\nMultiHead(dim=512, heads=8)"
    assert check_arguments(code, "Python Code", arguments, files=PACKAGE, reference=gold).accepted is accepted


def test_swapped_positions_are_refused_by_the_examples_keywords() -> None:
    gold = "from nets import fetch\nfetch(name='blip', kind='vqa')"
    wanted = {"model": "blip", "type": "vqa"}

    def judge(code: str) -> bool:
        return check_arguments(code, "Python Code", wanted, files=PACKAGE, reference=gold).accepted

    assert judge("from nets import fetch\nfetch('blip', 'vqa')")
    assert not judge("from nets import fetch\nfetch('vqa', 'blip')")


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ("print([m.update(v) for v in [1.0, 5.0]])", True),
        ("values = [1, 5]\nout = {v: m.update(v) for v in values}", True),
        ("total = sum(m.update(v) for v in (1.0, 5.0))", True),
        ("print([m.update(v) for v in [1.0, 6.0]])", False),
        ("print([m.update(2) for v in [1.0, 5.0]])", False),
        ("[0 for v in [1.0, 5.0]]\nm.update(v)", False),
    ],
)
def test_values_reach_calls_through_comprehensions_and_end_with_them(given: str, accepted: bool) -> None:
    code = f"from meter import Meter\nm = Meter()\n{given}\n"
    assert check_arguments(code, "Python Code", {"values": [1.0, 5.0]}).accepted is accepted
