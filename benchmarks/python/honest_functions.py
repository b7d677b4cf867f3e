#!/usr/bin/env python3
"""js.measure of functions of PyTorch that put all their work on the current stream, each in fresh processes and measured
first in its process: a Markdown table of what it says of them.

usage: honest_functions.py [--only REGEX] [--processes 1] [--seconds 1.0] [--json FILE]

None of them may be said to work on another stream or to launch nothing, and none of those that do not read a result back
may be said to wait for the GPU. "late" loads kernels after 25 calls, or compiles: its rounds may be lost, not its
measurement. Beside them stand two that do put work on another stream, and two that wait: these must be said to.
"""

import argparse
import json
import re
import subprocess
import sys

import jitterscope as js


def functions():
    """Name, maker; a maker returns the function. PyTorch is loaded in the process that measures alone."""
    import torch
    import torch.nn.functional as F

    def rand(*shape, dtype=torch.float16):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    def product(size, dtype):
        a, b = rand(size, size, dtype=dtype), rand(size, size, dtype=dtype)
        return lambda: a @ b

    def unary(function, *shape, dtype=torch.float32):
        x = rand(*shape, dtype=dtype)
        return lambda: function(x)

    def layer(module, *shape, dtype=torch.float16):
        module, x = module.cuda().to(dtype), rand(*shape, dtype=dtype)
        return torch.no_grad()(lambda: module(x))

    def entropy(rows, classes, dtype=torch.float32):
        x, y = rand(rows, classes, dtype=dtype), torch.randint(classes, (rows,), device="cuda")
        return lambda: F.cross_entropy(x, y)

    def training(width):
        net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width)).cuda()
        optimizer, x = torch.optim.SGD(net.parameters(), lr=1e-6), rand(256, width, dtype=torch.float32)

        def step():
            optimizer.zero_grad(set_to_none=True)
            net(x).square().mean().backward()
            optimizer.step()
        return step

    def attention(heads, length):
        q, k, v = (rand(4, heads, length, 64) for _ in range(3))
        return lambda: F.scaled_dot_product_attention(q, k, v)

    def late(kind):
        x, calls = rand(1 << 20, dtype=torch.float32), [0]
        more = [torch.erfinv, torch.lgamma, torch.special.i0e, torch.cumsum, torch.sort]

        def loads():
            calls[0] += 1
            y = x * 2
            if calls[0] > 25 and calls[0] % 25 == 1 and calls[0] // 25 <= len(more):
                one = more[calls[0] // 25 - 1]
                y = one(x, 0) if one is torch.cumsum else one(x)
            return y
        return loads

    def other_stream(size):
        a, stream = rand(size, size), torch.cuda.Stream()

        def step():
            with torch.cuda.stream(stream):
                a @ a
        return step

    def waits(size):
        x = rand(size, dtype=torch.float32)
        return lambda: x.sum().item()

    honest = {
        **{f"product {n} f16": lambda n=n: product(n, torch.float16) for n in (64, 256, 512, 1024, 2048, 4096, 8192)},
        **{f"product {n} f32": lambda n=n: product(n, torch.float32) for n in (128, 1024, 2048)},
        **{f"product {n} bf16": lambda n=n: product(n, torch.bfloat16) for n in (768, 3072)},
        **{f"{f.__name__} {n}": lambda f=f, n=n: unary(f, n) for f in (torch.relu, torch.exp, torch.tanh)
           for n in (1 << 12, 1 << 20, 1 << 26)},
        **{f"softmax {r}x{c}": lambda r=r, c=c: unary(lambda x: F.softmax(x, -1), r, c)
           for r, c in ((64, 1000), (8192, 1024), (4096, 32000))},
        **{f"cross_entropy {r}x{c}": lambda r=r, c=c: entropy(r, c)
           for r, c in ((512, 1000), (8192, 32000), (2048, 50257), (8192, 128256))},
        **{f"layer_norm {n}": lambda n=n: layer(torch.nn.LayerNorm(n), 4096, n) for n in (256, 1024, 4096)},
        **{f"conv {c}": lambda c=c: layer(torch.nn.Conv2d(c, c, 3, padding=1), 32, c, 28, 28) for c in (32, 64, 128, 256)},
        **{f"linear {n}": lambda n=n: layer(torch.nn.Linear(n, 4 * n), 512, n) for n in (512, 1024, 4096)},
        **{f"attention {h}x{n}": lambda h=h, n=n: attention(h, n) for h, n in ((8, 128), (16, 1024), (16, 2048))},
        **{f"training {n}": lambda n=n: training(n) for n in (256, 1024)},
        "sort": lambda: unary(lambda x: torch.sort(x)[0], 1 << 20),
        "cumsum": lambda: unary(lambda x: torch.cumsum(x, 0), 1 << 22),
        "topk": lambda: unary(lambda x: torch.topk(x, 64)[0], 512, 32000),
        "gather": lambda: unary(lambda x, i=torch.randint(1 << 20, (1 << 20,), device="cuda"): x[i], 1 << 20),
        "clone 1 GiB": lambda: unary(torch.clone, 1 << 28),
        "fft": lambda: unary(torch.fft.rfft, 64, 1 << 16),
        "lstm": lambda: layer(torch.nn.LSTM(256, 256), 32, 32, 256),
    }
    return {"honest": honest, "late": {f"late {i}": lambda i=i: late(i) for i in (1, 2, 3)},
            "another stream": {f"other stream {n}": lambda n=n: other_stream(n) for n in (1024, 4096)},
            "waits": {f"item {n}": lambda n=n: waits(n) for n in (1 << 10, 1 << 22)}}


def in_this_process(kind, name, seconds):
    function = functions()[kind][name]()
    try:
        time = js.measure(function, cache="warm", device="cuda:0", time_limit=seconds)
    except js.Error as error:
        return {"error": str(error)}
    found = [finding.id for finding in time.findings]
    return {"median": time.median, "waits": "waits_for_gpu" in found, "lost": "lost_rounds" in found,
            "elsewhere": any("puts work on another stream" in note for note in time.notes),
            "nowhere": any("launched nothing" in note for note in time.notes)}


def in_fresh_process(kind, name, seconds):
    done = subprocess.run([sys.executable, __file__, "--one", kind, name, "--seconds", str(seconds)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def names_of_all():
    done = subprocess.run([sys.executable, __file__, "--names"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def summary(kind, all_said):
    count = {key: sum(bool(said.get(key)) for said in all_said) for key in ("elsewhere", "nowhere", "waits", "lost", "error")}
    return (f"| {kind} | {len(all_said)} | {count['elsewhere']} | {count['nowhere']} | {count['waits']} | {count['lost']} | "
            f"{count['error']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names that match alone")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--names", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.names:
        return print(json.dumps({kind: list(each) for kind, each in functions().items()}))
    if asked.one:
        return print(json.dumps(in_this_process(*asked.one, asked.seconds)))
    said = {}
    for kind, names in names_of_all().items():
        for name in filter(re.compile(asked.only).search, names):
            said[kind, name] = [in_fresh_process(kind, name, asked.seconds) for _ in range(asked.processes)]
            print(name, said[kind, name], file=sys.stderr, flush=True)
    print("| kind | measured | on another stream | launches nothing | waits | lost rounds | failed |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for kind in dict.fromkeys(kind for kind, _ in said):
        print(summary(kind, [one for (other, _), all_said in said.items() if other == kind for one in all_said]))
    for (kind, name), all_said in said.items():
        for one in all_said:
            wrong = kind in ("honest", "late") and (one.get("elsewhere") or one.get("nowhere") or one.get("waits"))
            if wrong or one.get("error"):
                print(f"- {name}: {one}")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump([{"kind": kind, "name": name, "said": each} for (kind, name), each in said.items()], file)
    return None


if __name__ == "__main__":
    main()
