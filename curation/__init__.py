"""Curation: from repositories at pinned commits to candidate tasks.

Comes in: ``repositories.toml`` (or an address and a commit), git mirrors or the network. Goes out: candidates in the
workspace's store (``.benchwright/state.db``), which ``benchwright candidates export`` writes as JSON lines. Open
``pipeline.py`` first (what ``curate`` does), then ``source.py`` (how a repository is read) and
``candidates/__init__.py`` (how candidates are found); ``repositories.py`` registers and pins, and ``documents/``,
``commands/``, ``flags/``, ``context/`` and ``retrieval/`` are what candidates and prompts are made from.
"""

from .pipeline import Curated, curate
from .presets import preset_repositories
from .source import PinnedTree, open_tree

__all__ = ["Curated", "PinnedTree", "curate", "open_tree", "preset_repositories"]
