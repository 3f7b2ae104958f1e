"""Two interleaved spirals, and the network that tells them apart."""

import numpy as np


def make_spirals(points, noise, seed):
    """Points (n, 2) and labels (n,) of two spirals, half of the points each."""
    rng = np.random.default_rng(seed)
    half = points // 2
    turn = np.sqrt(rng.uniform(0.05, 1.0, half)) * 2.5 * np.pi
    arm = np.stack([turn * np.cos(turn), turn * np.sin(turn)], axis=1) / (2.5 * np.pi)
    data = np.concatenate([arm, -arm]) + rng.normal(0, noise / 10, (2 * half, 2))
    return data, np.repeat([0, 1], half)


class Network:
    """One hidden layer of tanh units and a logistic output."""

    def __init__(self, hidden, seed=0):
        rng = np.random.default_rng(seed)
        self.weights = {
            "w1": rng.normal(0, 2.0, (2, hidden)),
            "b1": rng.normal(0, 1.0, hidden),
            "w2": rng.normal(0, 0.5, hidden),
            "b2": np.zeros(1),
        }

    def forward(self, data):
        hidden = np.tanh(data @ self.weights["w1"] + self.weights["b1"])
        score = hidden @ self.weights["w2"] + self.weights["b2"]
        return hidden, 1 / (1 + np.exp(-score))

    def gradients(self, data, labels):
        hidden, chance = self.forward(data)
        error = (chance - labels) / len(labels)
        back = np.outer(error, self.weights["w2"]) * (1 - hidden**2)
        return {"w1": data.T @ back, "b1": back.sum(0), "w2": hidden.T @ error, "b2": error.sum(keepdims=True)}

    def loss(self, data, labels):
        chance = np.clip(self.forward(data)[1], 1e-9, 1 - 1e-9)
        return float(-np.mean(labels * np.log(chance) + (1 - labels) * np.log(1 - chance)))

    def accuracy(self, data, labels):
        return float(np.mean((self.forward(data)[1] > 0.5) == labels))
