"""What the tests time: on any machine, in microseconds."""

import jitterscope as js

print("what a file prints is no part of a record")


@js.benchmark(n=[100, 200])
def total(n):
    numbers = list(range(n))
    return lambda: sum(numbers)


@js.benchmark
def plain():
    return lambda: sum(range(100))


@js.benchmark(n=[1, 2], word=["a,b", "c"])
def two(n, word):
    return lambda: word * n


@js.benchmark(n=[1, 2])
def half_broken(n):
    if n == 2:
        raise ValueError("no such luck")
    return lambda: sum(range(100))


def short():
    sum(range(100))


def longer():
    sum(range(1000))


def broken():
    raise ValueError("no such luck")


not_a_function = 3
