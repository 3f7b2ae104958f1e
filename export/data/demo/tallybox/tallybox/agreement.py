"""How far two labellings agree."""


def agreement(first, second, metric="percent"):
    """Share of equal labels, or Cohen's kappa, of two labellings of the same items."""
    if len(first) != len(second) or not first:
        raise ValueError("two labellings of the same items are needed")
    share = sum(a == b for a, b in zip(first, second)) / len(first)
    if metric == "percent":
        return share
    if metric != "kappa":
        raise ValueError(f"unknown metric: {metric}")
    labels = set(first) | set(second)
    chance = sum(first.count(label) * second.count(label) for label in labels) / len(first) ** 2
    return 1.0 if chance == 1 else (share - chance) / (1 - chance)
