"""Exponential averages."""


class Smoother:
    """Keeps an exponential average of a series."""

    def __init__(self, weight=0.5):
        if not 0 < weight <= 1:
            raise ValueError("weight must lie in (0, 1]")
        self.weight = weight
        self.value = None

    def update(self, value):
        """Take in the next value and give the average so far."""
        self.value = value if self.value is None else self.value + self.weight * (value - self.value)
        return self.value
