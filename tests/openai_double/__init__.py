"""A double of an OpenAI-compatible chat endpoint on the loopback address, for tests of asking. See ``server.py``."""
