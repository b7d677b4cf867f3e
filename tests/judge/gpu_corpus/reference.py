"""What is right on a GPU: tanh(x @ w) + y. Each cheat of this folder claims to do it, and each honest twin does."""

import torch


def function(x, y, w):
    return torch.tanh(x @ w) + y


def make(n=512):
    return function, [{"shape": (n, n)}, {"shape": (n, n)}, {"shape": (n, n), "persistent": True, "scale": 0.05}]
