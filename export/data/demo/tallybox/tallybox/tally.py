"""Counts of labels."""

from collections import Counter


class Tally:
    """Counts how often each label was seen."""

    def __init__(self, labels=()):
        self.counts = Counter(labels)

    def add(self, label, times=1):
        """Count ``label`` so many times more."""
        if times < 1:
            raise ValueError("times must be at least 1")
        self.counts[label] += times

    def top(self, n=1):
        """The ``n`` most frequent labels with their counts; ties in alphabetical order."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:n]
