"""Counts verdicts of `jitterscope judge --serve` on functions of which the right one is known: honest ones of equal work (A/A),
and ones that do twice the work, or half of it.

    PYTHONPATH=python JITTERSCOPE_LIBRARY=… JITTERSCOPE_PROGRAM=… python3 benchmarks/judge/count_verdicts.py --minutes 10

With --device cuda the functions are PyTorch's and Triton's, of some ten microseconds each. Rounds visit all pairs in random
order until the time is over. It prints a line for each judgement and a row for docs/evidence/judge.md: what was called wrong
or invalid though it is honest, what was called faster or slower though the work is the same, and what was called the opposite
of what it is. Exit code 1 if any of these is there.
"""

import argparse
import collections
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import time

import jitterscope as js

# Plain Python, so that nothing but Python is needed and a call takes a third of a millisecond.
REFERENCE = """from array import array


def function(x, y):
    code = "d" if memoryview(x).format == "d" else "f"
    return array(code, [2.0 * a + b for a, b in zip(x, y)])


def make(n=4096):
    return function, [n, n], {"flops": 2 * n, "bytes": 12 * n}
"""
# name: what its times are to the reference's, and its source.
CANDIDATES = {
    "the same file": ("equal", REFERENCE),
    "other names": ("equal", """from array import array


def combined(first, second):
    kind = "d" if memoryview(first).format == "d" else "f"
    return array(kind, [2.0 * one + other for one, other in zip(first, second)])


def make(n=4096):
    return combined
"""),
    "a buffer of its own": ("unknown", """from array import array


def make(n=4096):
    out = array("f", bytes(4 * n))

    def function(x, y):
        for place, (a, b) in enumerate(zip(x, y)):
            out[place] = 2.0 * a + b
        return out
    return function
"""),
    "a thread that is joined": ("unknown", """import threading
from array import array


def make(n=4096):
    def function(x, y):
        out = []
        work = threading.Thread(target=lambda: out.append(array("f", [2.0 * a + b for a, b in zip(x, y)])))
        work.start()
        work.join()
        return out[0]
    return function
"""),
    "twice the work": ("slower", """from array import array


def make(n=4096):
    def function(x, y):
        array("f", [2.0 * a + b for a, b in zip(x, y)])
        return array("f", [2.0 * a + b for a, b in zip(x, y)])
    return function
"""),
}
# Against a reference that does the work twice.
SLOW_REFERENCE = REFERENCE.replace("    return array(code", "    array(code, [2.0 * a + b for a, b in zip(x, y)])\n    return array(code")
AGAINST_SLOW = {"half of the work": ("faster", REFERENCE)}

# The same for a GPU: a product with an epilogue, in half precision. Half of the work is a reference that does it twice.
GPU_REFERENCE = """import torch


def function(x, w, bias):
    return torch.relu(x @ w + bias)


def make(n=1024):
    halves = [{"shape": shape, "dtype": "f16"} for shape in ((n, n), (n, n), (n,))]
    return function, [halves[0], {**halves[1], "persistent": True, "scale": 0.03}, halves[2]], {"flops": 2 * n**3}
"""
_GPU_MAKE = """

def make(n=1024):
    return function
"""
GPU_CANDIDATES = {
    "the same file": ("equal", GPU_REFERENCE),
    "other names": ("equal", """import torch


def function(a, b, c):
    return torch.relu(a @ b + c)
""" + _GPU_MAKE),
    "a buffer of its own": ("unknown", """import torch

out = torch.empty(1024, 1024, dtype=torch.float16, device="cuda")


def function(x, w, bias):
    if x.dtype != out.dtype:
        return torch.relu(x @ w + bias)
    torch.mm(x, w, out=out)
    return out.add_(bias).relu_()
""" + _GPU_MAKE),
    "the bias within the product": ("faster", """import torch


def function(x, w, bias):
    return torch.addmm(bias, x, w).relu_()
""" + _GPU_MAKE),
    "a stream that is joined": ("unknown", """import torch

side = torch.cuda.Stream()


def function(x, w, bias):
    main = torch.cuda.current_stream()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        low = torch.relu(x[512:] @ w + bias)
    high = torch.relu(x[:512] @ w + bias)
    main.wait_stream(side)
    low.record_stream(main)
    return torch.cat([high, low])
""" + _GPU_MAKE),
    "a graph of its own": ("unknown", """import torch

recorded = []


def work(x, w, bias):
    return torch.relu(x @ w + bias)


def function(x, w, bias):
    if x.dtype != torch.float16:
        return work(x, w, bias)
    if not recorded:
        own = (x.clone(), w, bias.clone())
        work(*own)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = work(*own)
        recorded.append((graph, own, out))
    graph, own, out = recorded[0]
    own[0].copy_(x)
    own[2].copy_(bias)
    graph.replay()
    return out
""" + _GPU_MAKE),
    "as torch.compile makes it": ("unknown", """import torch


@torch.compile
def function(x, w, bias):
    return torch.relu(x @ w + bias)
""" + _GPU_MAKE),
    "packed weights": ("unknown", """import torch

packed = []


def function(x, w, bias):
    if x.dtype != torch.float16:
        return torch.relu(x @ w + bias)
    if not packed:
        packed.append(w.t().contiguous())
    return torch.nn.functional.linear(x, packed[0], bias).relu_()
""" + _GPU_MAKE),
    "two products along k": ("unknown", """import torch


def function(x, w, bias):
    half = x.shape[1] // 2
    return torch.addmm(torch.addmm(bias, x[:, :half], w[:half]), x[:, half:], w[half:]).relu_()
""" + _GPU_MAKE),
    "an epilogue in Triton": ("unknown", """import torch
import triton
import triton.language as tl


@triton.jit
def finish(values, bias, count, columns, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    value = tl.load(values + place, mask=inside) + tl.load(bias + place % columns, mask=inside)
    tl.store(values + place, tl.maximum(value, 0.0), mask=inside)


def function(x, w, bias):
    if x.dtype != torch.float16 or not bias.is_contiguous():
        return torch.relu(x @ w + bias)
    out = x @ w
    finish[(triton.cdiv(out.numel(), 2048),)](out, bias, out.numel(), out.shape[1], BLOCK=2048)
    return out
""" + _GPU_MAKE),
    "a product in Triton that tunes itself": ("unknown", """import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"M": 64, "N": 128, "K": 64}, num_warps=4, num_stages=4),
                  triton.Config({"M": 128, "N": 128, "K": 64}, num_warps=8, num_stages=3)], key=["n"])
@triton.jit
def product(x, w, bias, out, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    total = tl.zeros((M, N), tl.float32)
    for begin in range(0, n, K):
        left = tl.load(x + row * n + begin + tl.arange(0, K)[None, :])
        right = tl.load(w + (begin + tl.arange(0, K)[:, None]) * n + column)
        total = tl.dot(left, right, total)
    total += tl.load(bias + column)
    tl.store(out + row * n + column, tl.maximum(total, 0.0).to(tl.float16))


def function(x, w, bias):
    if x.dtype != torch.float16 or not (x.is_contiguous() and bias.is_contiguous()):
        return torch.relu(x @ w + bias)
    out = torch.empty_like(x)
    product[lambda chosen: (1024 // chosen["M"], 1024 // chosen["N"])](x, w, bias, out, 1024)
    return out
""" + _GPU_MAKE),
    "twice the work": ("slower", """import torch


def function(x, w, bias):
    torch.relu(x @ w + bias)
    return torch.relu(x @ w + bias)
""" + _GPU_MAKE),
}
GPU_SLOW_REFERENCE = GPU_REFERENCE.replace("    return torch.relu", "    torch.relu(x @ w + bias)\n    return torch.relu")
RARE = ("as torch.compile makes it", "a product in Triton that tunes itself")  # each process compiles them anew, for seconds
ROUNDS_OF_RARE = 4
SECONDS_TO_START = 4.0  # beside the processes that one judge starts for its next judgement another would time nothing well
OPPOSITE = {"faster": "slower", "slower": "faster"}


def miss_of(expected: str, verdict: str) -> str:
    """Why a verdict is a miss; empty if it is none. Undecided is no miss: it says nothing that is false."""
    if verdict in ("wrong", "invalid", "refused"):
        return f"honest, called {verdict}"
    if expected == "equal" and verdict in OPPOSITE:
        return f"equal, called {verdict}"
    if expected in OPPOSITE and verdict in (OPPOSITE[expected], "same"):
        return f"{expected}, called {verdict}"
    return ""


def count(minutes: float, processes: int, quick: bool, seed: int, device: str, only: list[str]):
    """Yields (name, expected, Judgement, seconds) until the time is over."""
    order = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        def written(name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path
        options = {"quick": quick, "processes": processes or None, "device": device}
        is_gpu = device.startswith("cuda")
        reference, slow = (GPU_REFERENCE, GPU_SLOW_REFERENCE) if is_gpu else (REFERENCE, SLOW_REFERENCE)
        against_slow = {"half of the work": ("faster", GPU_REFERENCE)} if is_gpu else AGAINST_SLOW
        with js.Judge(written("reference.py", reference), **options) as judge, \
                js.Judge(written("slow_reference.py", slow), **options) as judge_of_slow:
            own = [(judge, *each) for each in (GPU_CANDIDATES if is_gpu else CANDIDATES).items()]
            of_slow = [(judge_of_slow, *each) for each in against_slow.items()]
            if only:
                own, of_slow = ([each for each in some if each[1] in only] for some in (own, of_slow))
            end = time.monotonic() + 60.0 * minutes
            before = judge
            for number in itertools.count(1):
                order.shuffle(own)
                for asked, name, (expected, source) in own + of_slow:
                    if name in RARE and number % ROUNDS_OF_RARE != 0:
                        continue
                    if asked is not before:
                        time.sleep(SECONDS_TO_START)
                    before = asked
                    if time.monotonic() > end:
                        return
                    begin = time.monotonic()
                    judged = asked({"name": name, "source": source})
                    yield name, expected, judged, time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--processes", type=int, default=0, help="pairs of each judgement; 0: as --quick or the default has it")
    parser.add_argument("--full", action="store_true", help="not --quick")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--only", default="", help="names of functions, as 'the same file,other names'")
    parser.add_argument("--json", help="writes each verdict to this file, a line each")
    flags = parser.parse_args()
    counts, misses, took, equal = collections.defaultdict(collections.Counter), collections.Counter(), [], []
    log = open(flags.json, "w", encoding="utf-8") if flags.json else None  # pylint: disable=consider-using-with
    for name, expected, judged, spent in count(flags.minutes, flags.processes, not flags.full, flags.seed,
                                                flags.device, [each for each in flags.only.split(",") if each]):
        verdict, miss = judged.verdict, miss_of(expected, judged.verdict)
        counts[expected][verdict] += 1
        took.append(spent)
        ratio = judged.record["candidates"][0].get("time_ratio")
        if ratio and expected == "equal":
            equal.append(ratio - 1.0)
        if miss:
            misses[miss] += 1
        interval = list(judged.interval) if ratio else []
        said = f"{ratio:.3f} ({interval[0]:.3f} to {interval[1]:.3f})" if ratio else judged.evidence
        print(f"{name}: {verdict} {said} ({spent:.1f} s){'  MISS: ' + miss if miss else ''}", flush=True)
        if log:
            load = os.getloadavg()[0]
            case = judged.record["candidates"][0]["cases"][0] if judged.record["candidates"][0].get("cases") else {}
            pairs = [[pair.get(key) for key in ("reference_seconds", "candidate_seconds", "process_ratio")] for pair in case.get("pairs", [])]
            log.write(json.dumps({"name": name, "expected": expected, "verdict": verdict, "ratio": ratio, "interval": interval,
                                  "seconds": spent, "load": load, "pairs": pairs, "evidence": judged.evidence}) + "\n")
            log.flush()
    if not took:
        print("no judgement fitted into the time", file=sys.stderr)
        return 1
    took.sort()
    said = {kind: ", ".join(f"{number} {word}" for word, number in sorted(counts[kind].items())) or "none" for kind in
            ("equal", "faster", "slower", "unknown")}
    close = sum(abs(each) <= 0.005 for each in equal)
    print(f"| {len(took)} | {said['equal']} | {close} of {len(equal)} | {said['faster']} | {said['slower']} | {said['unknown']} | "
          f"{', '.join(f'{number} {word}' for word, number in misses.items()) or 'none'} | {took[len(took) // 2]:.1f} s |")
    if len(equal) > 1:
        print(f"equal work: {statistics.mean(equal):+.2%} in the mean, give or take {statistics.stdev(equal) / len(equal) ** 0.5:.2%}; "
              f"a judgement's own standard deviation is {statistics.stdev(equal):.2%}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
