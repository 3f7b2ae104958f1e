"""The launcher: what starts a script, watches every one of its processes, and tells how each ended.

Comes in: one message a run (``attend.receive``; ``messages.py`` writes it). Goes out: the script's output on
descriptor 1, and lines ``key value`` on descriptor 2, which the script never holds. Open ``watch.py`` first.

It runs in bare interpreters, Python 3.8 or newer, that have neither this project nor any site-packages: ``inside.py``
is the first process of a container (and the parent of a plain process), ``outside.py`` starts one bubblewrap after
another. ``messages.launcher_command`` carries it there; so its files import the standard library and each other only,
and few modules of that: each costs some milliseconds at every start.
"""
