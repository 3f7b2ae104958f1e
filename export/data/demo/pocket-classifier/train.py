"""Train the pocket classifier."""

import argparse
import os

import numpy as np

from spirals import Network, make_spirals


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40, help="passes over the points")
    parser.add_argument("--lr", type=float, default=0.5, help="step size")
    parser.add_argument("--hidden", type=int, default=16, help="hidden units")
    parser.add_argument("--optimizer", choices=["sgd", "momentum"], default="sgd", help="how steps are taken")
    parser.add_argument("--points", type=int, default=200, help="number of points")
    parser.add_argument("--noise", type=float, default=0.1, help="how far the points stray, 0 to 1")
    parser.add_argument("--seed", type=int, default=0, help="seed of points and weights")
    parser.add_argument("--output", required=True, help="folder for the weights")
    return parser


def main():
    options = build_parser().parse_args()
    if options.epochs < 1:
        raise SystemExit("--epochs must be at least 1")
    data, labels = make_spirals(options.points, options.noise, options.seed)
    network = Network(options.hidden, options.seed)
    speed = {name: np.zeros_like(value) for name, value in network.weights.items()}
    keep = 0.9 if options.optimizer == "momentum" else 0.0
    for epoch in range(1, options.epochs + 1):
        for name, gradient in network.gradients(data, labels).items():
            speed[name] = keep * speed[name] - options.lr * gradient
            network.weights[name] += speed[name]
        if epoch == options.epochs or epoch % 10 == 0:
            print(f"epoch {epoch} loss {network.loss(data, labels):.4f}")
    os.makedirs(options.output, exist_ok=True)
    np.savez(os.path.join(options.output, "weights.npz"), **network.weights)
    print(f"accuracy {network.accuracy(data, labels):.3f}")


if __name__ == "__main__":
    main()
