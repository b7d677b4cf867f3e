"""How far a tool's reported time moves between fresh processes."""

import statistics

import jitterscope_runs
import peer_runs
import tables
from problems import PROBLEMS

TITLE = "Range over fresh processes"
TARGET_RATIO = 0.002
PROCESSES, QUICK_PROCESSES = 6, 2
LIMIT_SECONDS = 90.0
PEERS = ("cupti", "do_bench", "do_bench_cudagraph", "torch_benchmark")
TOOLS = ("jitterscope", *PEERS)
NAMES = [problem.name for problem in PROBLEMS]


def run_jitterscope(session):
    raw = jitterscope_runs.run(session, [problem.operation for problem in PROBLEMS],
                               ["--cache", "warm", "--load", "burst"], LIMIT_SECONDS)
    raw["times"] = jitterscope_runs.readings_in_order(raw, NAMES)
    return raw


def run_tool(session, tool):
    return run_jitterscope(session) if tool == "jitterscope" else peer_runs.run(session, tool, NAMES)


def measure(session):
    """Tools take turns, each turn in another order: slow drift, and what the last tool left, hit all alike."""
    count = QUICK_PROCESSES if session.quick else PROCESSES
    processes = []
    for repetition in range(count):
        first = repetition % len(TOOLS)
        for tool in TOOLS[first:] + TOOLS[:first]:
            raw = session.attempt(f"ranges, process {repetition + 1} of {count}: {tool}",
                                  lambda: run_tool(session, tool))
            processes.append({"tool": tool, "repetition": repetition, **raw})
    return {"wanted": count, "processes": processes}


def times_of(raw, tool, name):
    found = [peer_runs.seconds_of(process.get("times", {}), name) for process in raw["processes"]
             if process["tool"] == tool]
    return [seconds for seconds in found if seconds is not None]


def range_of(times):
    """(max − min) / median; nothing for fewer than two processes."""
    return (max(times) - min(times)) / statistics.median(times) if len(times) > 1 else None


def rows(raw):
    target = "at most 0.2 %"
    if "failed" in raw:
        return [tables.failed_row("range over processes", target, raw)]
    return [row_of(raw, problem, target) for problem in PROBLEMS]


def row_of(raw, problem, target):
    what = f"range over processes, {problem.label}"
    times = times_of(raw, "jitterscope", problem.name)
    ratio = range_of(times)
    if ratio is None:
        return tables.failed_row(what, target, {"failed": reason(raw, "jitterscope", problem.name)})
    others = {tool: range_of(times_of(raw, tool, problem.name)) for tool in PEERS}
    known = {tool: other for tool, other in others.items() if other is not None}
    text = f"{tables.percent(ratio)} over {len(times)} processes"
    if known:
        best = min(known, key=known.get)
        text += f" (best of the others: {tables.percent(known[best])}, {peer_runs.TOOL_LABELS[best]})"
    within = ratio <= TARGET_RATIO
    # Fewer processes than wanted can show a range that is too wide, but not one that is narrow enough.
    return tables.Row(what, target, text, within if len(times) == PROCESSES or not within else None)


def reason(raw, tool, name):
    for process in raw["processes"]:
        if process["tool"] != tool:
            continue
        failed = process.get("failed") or process.get("times", {}).get(name, {}).get("failed")
        if failed:
            return failed
    return "fewer than two processes"


def cell(raw, tool, name):
    times = times_of(raw, tool, name)
    if not times:
        return tables.NOT_MEASURED
    short = "" if len(times) == raw["wanted"] else f", {len(times)} processes"
    ratio = range_of(times)
    spread = tables.NOT_MEASURED if ratio is None else tables.percent(ratio)
    return f"{tables.time_text(statistics.median(times))} ({spread}{short})"


def failures(raw):
    found = []
    for process in raw["processes"]:
        label = f"process {process['repetition'] + 1}, {process['tool']}"
        if "failed" in process:
            found.append(f"{label}: {process['failed']}")
        found += [f"{label}, {name}: {times['failed']}" for name, times in process.get("times", {}).items()
                  if "failed" in times]
    return found


def details(raw):
    if "failed" in raw:
        return ""
    labels = ["jitterscope", *(peer_runs.TOOL_LABELS[tool] for tool in PEERS)]
    lines = [[problem.label, *(cell(raw, tool, problem.name) for tool in TOOLS)] for problem in PROBLEMS]
    text = (f"Median over {raw['wanted']} processes in µs, and (max − min) / median. jitterscope: burst, warm; the "
            "others with their defaults, on PyTorch's operation.\n\n")
    text += tables.table(["operation", *labels], lines)
    problems_found = failures(raw)
    return text + ("\n\n" + tables.problem_list(problems_found) if problems_found else "")
