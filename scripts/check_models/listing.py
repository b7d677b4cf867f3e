"""A network's operations as tuples that PyTorch's operators can be compared with, and how often each runs."""

import collections
import json
import subprocess

# Not compared: a copy is a clone for backward, and the gradient of an average takes PyTorch several operators.
IGNORED = {"copy"}
IGNORED_PASS = ("avg_pool", "backward")


def conv(direction, n, c, h, w, k, r, s, stride, pad, dilation, groups):
    return ("conv2d", direction, n, c, h, w, k, r, s, tuple(stride), tuple(pad), tuple(dilation), groups)


def product(batch, m, n, k, ta, tb, bias):
    return ("product", batch, m, n, k, bool(ta), bool(tb), bool(bias))


def text(work):
    return " ".join(str(part) for part in work)


def only(works, kinds):
    """Those of some kinds; all where that is empty."""
    return collections.Counter({work: n for work, n in works.items() if not kinds or work[0] in kinds})


def pair(fields, both, first, second, default=None):
    """hw=56 or h=56,w=48; stride=2 or stride=2x1."""
    value = fields.get(both, default)
    if value is None:
        return int(fields[first]), int(fields[second])
    sides = [int(side) for side in str(value).split("x")]
    return (sides[0], sides[-1])


def of_convolution(fields):
    h, w = pair(fields, "hw", "h", "w")
    r, s = pair(fields, "rs", "r", "s")
    sizes = (int(fields[name]) for name in ("n", "c"))
    around = (pair(fields, name, "", "", default) for name, default in (("stride", 1), ("pad", 0), ("dilation", 1)))
    return conv(fields.get("direction", "fprop"), *sizes, h, w, int(fields["k"]), r, s, *around, int(fields.get("groups", 1)))


def of_pool(kind, fields):
    h, w = pair(fields, "hw", "h", "w")
    window = pair(fields, "window", "window_h", "window_w")
    return (kind, fields.get("pass", "forward"), int(fields["n"]), int(fields["c"]), h, w, window)


def of_maps(kind, fields):
    h, w = pair(fields, "hw", "h", "w")
    return (kind, fields.get("pass", "forward"), int(fields["n"]) * int(fields["c"]) * h * w)


def of_operation(line):
    kind, _, parameters = line.partition(":")
    fields = dict(field.split("=", 1) for field in parameters.split(","))
    number = {name: int(value) for name, value in fields.items() if value.isdigit()}
    if kind == "conv2d":
        return of_convolution(fields)
    if kind == "linear":
        return product(1, number["n"], number["out"], number["in"], 0, 1, number.get("bias", 1))
    if kind == "matmul":
        sizes = (number.get("batch", 1), number["m"], number["n"], number["k"])
        return product(*sizes, number.get("ta", 0), number.get("tb", 0), number.get("bias", 0))
    if kind in ("max_pool", "avg_pool"):
        return of_pool(kind, fields)
    if kind in ("batch_norm", "bias_add"):
        return of_maps(kind, fields)
    if kind in ("layer_norm", "softmax", "log_softmax"):
        return (kind, fields.get("pass", "forward"), number["rows"], number["columns"])
    if kind == "embedding":
        return (kind, fields.get("pass", "forward"), number["count"], number["rows"], number["columns"])
    if kind == "attention":
        sizes = (number[name] for name in ("batch", "heads", "queries", "dim"))
        return (kind, fields.get("pass", "forward"), *sizes, bool(number.get("causal", 0)))
    return (kind, number["count"])


def read(program, target):
    """How often each operation of a network runs."""
    result = subprocess.run([program, "list", target, "--json", "-"], check=True, capture_output=True, text=True)
    works = collections.Counter()
    for layer in json.loads(result.stdout)["layers"]:
        if layer["operation"].partition(":")[0] in IGNORED:
            continue
        work = of_operation(layer["operation"])
        if work[:2] != IGNORED_PASS:
            works[work] += layer["count"]
    return works
