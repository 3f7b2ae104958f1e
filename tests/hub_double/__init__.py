"""A double of the Hugging Face Hub on the loopback address, for tests of publishing. See ``server.py``."""
