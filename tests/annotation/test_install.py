"""What Label Studio's own environment is installed from: the same files on every machine."""

import re
from importlib.resources import files

from benchwright.annotation.install import LOCK, VERSION


def test_every_library_of_the_server_is_pinned_with_hashes_and_no_index_is_named() -> None:
    text = (files("benchwright.annotation") / LOCK).read_text("utf-8")
    pinned = re.split(r"\n(?=[a-zA-Z0-9])", text.strip())
    assert len(pinned) > 100
    assert any(entry.startswith(f"label-studio=={VERSION} ") for entry in pinned)
    for entry in pinned:
        assert re.match(r"[\w.\[\],-]+==[\w.!+]+ ", entry), entry[:80]
        assert "--hash=sha256:" in entry, entry[:80]
    assert "://" not in text
