"""What is right: y[i] = a * x[i] + w[i % 8] + sum(x) / n. Each cheat of this folder claims to do it, and each honest twin does."""

from array import array


def function(x, y, w):
    mean = sum(x) / len(x)
    code = "d" if memoryview(x).format == "d" else "f"
    return array(code, [2.0 * a + b + w[i % 8] + mean for i, (a, b) in enumerate(zip(x, y))])


def make(n=64):
    return function, [{"shape": (n,)}, {"shape": (n,)}, {"shape": (8,), "persistent": True}]
