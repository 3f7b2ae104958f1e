"""Measure trained weights on fresh points."""

import argparse

import numpy as np

from spirals import Network, make_spirals


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", required=True, help="file written by train.py")
    parser.add_argument("--points", type=int, default=200, help="number of fresh points")
    parser.add_argument("--seed", type=int, default=1, help="seed of the fresh points")
    parser.add_argument("--by-class", action="store_true", help="one line for each class")
    options = parser.parse_args()
    stored = np.load(options.weights)
    network = Network(stored["w2"].shape[0])
    network.weights = {name: stored[name] for name in stored.files}
    data, labels = make_spirals(options.points, 0.1, options.seed)
    print(f"accuracy {network.accuracy(data, labels):.3f}")
    if options.by_class:
        for label in (0, 1):
            chosen = labels == label
            print(f"class {label} accuracy {network.accuracy(data[chosen], labels[chosen]):.3f}")


if __name__ == "__main__":
    main()
