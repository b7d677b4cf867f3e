#!/usr/bin/env python3
"""What several harnesses say of the same GPU functions: `jitterscope judge`, CUPTI's records, Triton's do_bench, and the timing
of KernelBench and of reference-kernels by their own code.

    compare_timings.py REFERENCE.py CANDIDATE.py:NAME… [--kernelbench FOLDER] [--reference-kernels FOLDER] [--processes 3]
    compare_timings.py --known                           the functions of count_verdicts.py

FOLDER is a checkout of theirs. Files have the form make(), each with one case; a name without a file is one of the last
file. Each harness times the reference and the candidate in processes of their own, forked from one that has imported
PyTorch and not touched the GPU. Prints a Markdown table: time of the candidate over that of the reference, the median of
the processes and their range; "wrong" where a harness's own check says so. KernelBench's check is another part of it, and
is not asked.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import types

SECONDS = 25  # for a harness to answer
SPIN = 20_000_000  # cycles: 10 ms, in which all that is timed by CUPTI is queued


def loaded(target):
    """The function that make() gives, and its inputs where it tells them."""
    path, _, name = target.rpartition(":")
    sys.path[:0] = [str(pathlib.Path(path).parent)]
    specification = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    made = getattr(module, name)()
    return made[:2] if isinstance(made, tuple) else (made, None)


def drawn(described):
    import torch
    types_of = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
    generator = torch.Generator(device="cuda").manual_seed(1)
    return [torch.randn(each["shape"], generator=generator, device="cuda").mul(each.get("scale", 1.0))
            .to(types_of[each.get("dtype", "f32")]) for each in described]


# Each harness: microseconds of a call, or a word.

def by_cupti(function, inputs, _):
    """From the begin of a call's first kernel to the end of its last one, of calls between kernels that spin."""
    import torch
    for _ in range(5):
        function(*inputs)
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        torch.cuda._sleep(SPIN)  # pylint: disable=protected-access
        for _ in range(40):
            function(*inputs)
            torch.cuda._sleep(1000)  # pylint: disable=protected-access
        torch.cuda.synchronize()
    spans, begin, end = [], None, None
    for event in sorted(profile.events(), key=lambda each: each.time_range.start):
        if "spin_kernel" in event.name:
            if begin is not None:
                spans.append(end - begin)
            begin = end = None
        elif event.device_type == torch.autograd.DeviceType.CUDA:
            begin = event.time_range.start if begin is None else begin
            end = max(end or 0, event.time_range.end)
    return statistics.median(spans) if spans else "nothing"


def by_do_bench(function, inputs, _):
    from triton.testing import do_bench
    return 1e3 * do_bench(lambda: function(*inputs), return_mode="median")


def by_kernelbench(function, inputs, folder):
    import torch
    specification = importlib.util.spec_from_file_location("timing", pathlib.Path(folder) / "src/kernelbench/timing.py")
    timing = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(timing)
    times = timing.time_execution_with_cuda_event(function, inputs, num_warmup=5, num_trials=100, verbose=False,
                                                  device=torch.device("cuda:0"))
    return 1e3 * timing.get_timing_stats(times, device=torch.device("cuda:0"))["mean"]


def by_reference_kernels(function, inputs, folder, right=None):
    """problems/nvidia/eval.py, with a task of our own around it."""
    import torch
    for name in ("cutlass", "cutlass.cute", "cutlass.cute.nvgpu", "cutlass.cute.nvgpu.common"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["cutlass.cute.nvgpu.common"].OpError = type("OpError", (Exception,), {})

    def check(data, output):
        same = torch.allclose(output, right(*data), rtol=1e-2, atol=1e-2)
        return same, "" if same else "wrong"
    sys.modules["reference"] = types.SimpleNamespace(generate_input=lambda: tuple(inputs), check_implementation=check)
    sys.modules["submission"] = types.SimpleNamespace(custom_kernel=lambda data: function(*data))
    place = pathlib.Path(folder) / "problems/nvidia"
    sys.path.insert(0, str(place))
    sys.modules.pop("utils", None)
    specification = importlib.util.spec_from_file_location("eval", place / "eval.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["eval"] = module
    specification.loader.exec_module(module)
    stats = module._run_single_benchmark(module.TestCase(args={}, spec=""), False, 200, 10e9)  # pylint: disable=protected-access
    return stats if isinstance(stats, str) else stats.mean / 1e3


HARNESSES = {"CUPTI": by_cupti, "do_bench": by_do_bench, "KernelBench": by_kernelbench, "reference-kernels": by_reference_kernels}


def timed(harness, target, reference, folder):
    """In a process of its own: microseconds, or a word."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                right, described = loaded(reference)
                function = loaded(target)[0]
                inputs = drawn(described)
                more = {"right": right} if harness == "reference-kernels" else {}
                answer = HARNESSES[harness](function, inputs, folder, **more)
        except BaseException as error:  # pylint: disable=broad-except
            answer = "fails: " + str(error).split("\n", maxsplit=1)[0][:60]
        os.write(writes, json.dumps(answer).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "ends"


def ratio_of(harness, target, flags, references):
    """`references` has the times of the reference, by harness and process."""
    folder = {"KernelBench": flags.kernelbench, "reference-kernels": flags.reference_kernels}.get(harness)
    ratios, times = [], []
    for number in range(flags.processes):
        if (harness, number) not in references:
            references[harness, number] = timed(harness, flags.reference, flags.reference, folder)
        before, after = references[harness, number], timed(harness, target, flags.reference, folder)
        if isinstance(after, str) or isinstance(before, str):
            return (after if isinstance(after, str) else before), None, None
        if before <= 0 or after < 0:
            return f"{after:.3g} µs", None, None
        ratios.append(after / before)
        times.append(after)
    spread = f" ({min(ratios):.3f} to {max(ratios):.3f})" if len(ratios) > 1 else ""
    return f"{statistics.median(ratios):.3f}{spread}", statistics.median(ratios), statistics.median(times)


def judged(target, flags):
    command = [os.environ.get("JITTERSCOPE_PROGRAM", "jitterscope"), "judge", flags.reference, target, "--device", "cuda",
               "--deadline", "10", "--json", "-", *(["--quick"] if not flags.full else [])]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if not run.stdout:
        return "fails: " + run.stderr.strip()[-100:], None, None
    candidate = json.loads(run.stdout)["candidates"][0]
    if "time_ratio" not in candidate:
        return candidate["verdict"], None, None
    low, high = candidate["time_ratio_low"], candidate["time_ratio_high"]
    return f"{candidate['verdict']} {candidate['time_ratio']:.3f} ({low:.3f} to {high:.3f})", candidate["time_ratio"], None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", nargs="?")
    parser.add_argument("candidates", nargs="*")
    parser.add_argument("--known", action="store_true", help="the functions of count_verdicts.py")
    parser.add_argument("--size", type=int, default=1024, help="of the known functions' matrices")
    parser.add_argument("--harnesses", nargs="+", choices=["CUPTI", "do_bench", "KernelBench", "reference-kernels"],
                        help="beside the judge only these")
    parser.add_argument("--no-judge", action="store_true")
    parser.add_argument("--kernelbench", metavar="FOLDER")
    parser.add_argument("--reference-kernels", metavar="FOLDER")
    parser.add_argument("--processes", type=int, default=3, help="of each harness and side")
    parser.add_argument("--full", action="store_true", help="eight pairs for the judge, not --quick")
    parser.add_argument("--json", help="writes all ratios to this file")
    flags = parser.parse_args()
    if bool(flags.candidates) == flags.known:
        parser.error("name a reference and candidates, or --known")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        if flags.known:
            flags.reference, flags.candidates = known_files(pathlib.Path(folder), flags.size)
        print_table(flags)
    return 0


def known_files(folder, size):
    import count_verdicts
    sources = {"reference": count_verdicts.GPU_REFERENCE, **{name.replace(" ", "_"): source for name, (_, source) in
                                                             count_verdicts.GPU_CANDIDATES.items()}}
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source.replace("1024", str(size)).replace("512", str(size // 2)), encoding="utf-8")
    return str(folder / "reference.py"), [f"{folder / name}.py:make" for name in sources if name != "reference"]


def print_table(flags):
    flags.reference = str(pathlib.Path(flags.reference).resolve()) + ":make"
    harnesses = ["CUPTI", "do_bench"] + ["KernelBench"] * bool(flags.kernelbench)
    harnesses += ["reference-kernels"] * bool(flags.reference_kernels)
    harnesses = [each for each in harnesses if not flags.harnesses or each in flags.harnesses]
    targets = []
    for each in flags.candidates:
        file, colon, name = each.rpartition(":")
        place = pathlib.Path(file).resolve() if colon else pathlib.Path(targets[-1].rpartition(":")[0])
        targets.append(f"{place}:{name}")
    importlib.import_module("torch")
    with contextlib.suppress(ImportError):
        importlib.import_module("triton.testing")
    columns = [] if flags.no_judge else ["judge"]
    print("| function | µs (CUPTI) | " + " | ".join(columns + harnesses) + " |\n|--|--:|" + "--|" * len(columns + harnesses), flush=True)
    rows, references = [], {}
    for target in targets:
        said = {harness: ratio_of(harness, target, flags, references) for harness in harnesses}
        if not flags.no_judge:
            said["judge"] = judged(target, flags)
        took, (file, _, name) = said["CUPTI"][2] if "CUPTI" in said else None, target.rpartition(":")
        shown = pathlib.Path(file).stem.replace("_", " ") if name == "make" else name
        cells = [shown, f"{took:.1f}" if took else "–"] + [said[each][0] for each in columns + harnesses]
        print(f"| {' | '.join(cells)} |", flush=True)
        rows.append({"target": target, **{each: said[each][1] for each in columns + harnesses}})
    if flags.json:
        pathlib.Path(flags.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
