"""Annotation: candidates go to people in Label Studio, and what they agree on comes back as tasks.

Comes in: candidates of the store; a Label Studio server (a local one that ``server`` starts, or another). Goes out:
tasks on that server, each candidate once (``push``); the archive ``annotations/`` of all that was ever said, under
pseudonyms, and accepted tasks in ``tasks/`` (``pull``). Open ``interface.py`` first (what a person sees and fills
in), then ``pushing.py`` and ``pulling.py``.
"""

from .accounts import Account
from .client import Server
from .pulling import PullReport, pull
from .pushing import PushReport, Selection, push
from .team import TeamReport, push_to, share_of

__all__ = [
    "Account",
    "PullReport",
    "PushReport",
    "Selection",
    "Server",
    "TeamReport",
    "pull",
    "push",
    "push_to",
    "share_of",
]
