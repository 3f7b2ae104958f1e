"""Annotation: candidates go to people in Label Studio, and what they agree on comes back as tasks.

Comes in: candidates of the store; a Label Studio server (a local one that ``server`` starts, or another). Goes out:
Label Studio tasks on that server, one for each candidate in a project (``push``); the archive ``annotations/`` of all
that was ever said, under pseudonyms, and accepted tasks in ``tasks/`` (``pull``). Open ``pushing.py`` first, then
``interface.py`` with ``interface.xml`` (what a person sees and fills in), ``pulling.py`` and ``acceptance.py`` (when
an annotation becomes a task); ``team.py`` and ``assignment.py`` say who gets what. ``live/`` runs scripts while
annotators type, ``trials.py`` the suggestions before that; ``returning.py`` sends a task back.
"""

from .accounts import Account
from .client import Server
from .pulling import PullReport, pull
from .pushing import PushReport, push
from .selection import Selection
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
