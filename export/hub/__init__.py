"""Publishing a release folder on the Hugging Face Hub as one transaction, and withdrawing what turned out bad.

Comes in: a finished release folder (``SHA256SUMS`` over every file) and the workspace that names the repository.
Goes out: one merged pull request, a tag that never moves, and a receipt in ``releases/receipts/``. Every step first
looks at what is there and then does only what is missing, so a publication that was interrupted continues where it
stood. Open ``publish.py`` first (the transaction), then ``client.py`` (one dataset on the Hub) and ``patience.py``
(which failures are waited for).
"""

from .folder import ReleaseFolder, read_release
from .plan import Plan
from .publish import Published, publish_release
from .receipt import Receipt
from .yank import yank_example, yank_version

__all__ = [
    "Plan",
    "Published",
    "Receipt",
    "ReleaseFolder",
    "publish_release",
    "read_release",
    "yank_example",
    "yank_version",
]
