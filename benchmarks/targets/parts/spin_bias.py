"""Bias against CUPTI on kernels that spin a known time."""

import jitterscope_runs
import peer_runs
import problems
import tables

TITLE = "Bias against CUPTI"
TARGET_SECONDS = 0.1e-6
LIMIT_SECONDS = 120.0
NANOSECONDS = (1000, 2000, 5000, 10000, 50000)
BLOCKS = (1, 132, 1056)
# The other tools take most of a second each; these kernels show how far they are off.
NANOSECONDS_OF_OTHERS = (1000, 10000)
OTHERS = ("do_bench", "do_bench_cudagraph", "torch_benchmark", "events")


def names_of(nanoseconds, blocks):
    return [problems.spin_name(each, count) for each in nanoseconds for count in blocks]


def run_jitterscope(session, nanoseconds, blocks, flags):
    sweep = problems.spin_sweep(nanoseconds, blocks)
    raw = jitterscope_runs.run(session, [sweep], ["--cache", "warm", "--load", "burst", *flags], LIMIT_SECONDS)
    raw["times"] = {}
    for result in raw["document"]["results"]:
        name = problems.spin_name(*jitterscope_runs.spin_of(result["operation"]))
        try:
            raw["times"][name] = jitterscope_runs.reading(result)
        except (KeyError, ValueError) as error:
            raw["times"][name] = {"failed": str(error)}
    return raw


def measure(session):
    nanoseconds = NANOSECONDS[:2] if session.quick else NANOSECONDS
    blocks = BLOCKS[:2] if session.quick else BLOCKS
    names, fewer = names_of(nanoseconds, blocks), names_of(NANOSECONDS_OF_OTHERS, blocks)
    raw = {"names": names, "peers": {}}
    raw["jitterscope"] = session.attempt("spin kernels by jitterscope",
                                         lambda: run_jitterscope(session, nanoseconds, blocks, []))
    raw["jitterscope_cupti"] = session.attempt(
        "spin kernels by jitterscope --instrument cupti",
        lambda: run_jitterscope(session, nanoseconds, blocks, ["--instrument", "cupti"]))
    for tool in ("cupti", *OTHERS):
        chosen = names if tool in ("cupti", "events") else fewer
        raw["peers"][tool] = session.attempt(f"spin kernels by {tool}",
                                             lambda: peer_runs.run(session, tool, chosen))
    return raw


def difference(times, reference, name):
    time, true_time = peer_runs.seconds_of(times, name), peer_runs.seconds_of(reference, name)
    return None if time is None or true_time is None else time - true_time


def biases(raw):
    """Bias by name against each judge."""
    measured = raw["jitterscope"].get("times", {})
    judges = {"torch.profiler": raw["peers"]["cupti"].get("times", {}),
              "jitterscope --instrument cupti": raw["jitterscope_cupti"].get("times", {})}
    return {judge: {name: difference(measured, times, name) for name in raw["names"]}
            for judge, times in judges.items()}


def rows(raw):
    what, target = "bias against CUPTI, spin kernels", "at most 0.1 µs each"
    if "failed" in raw:
        return [tables.failed_row(what, target, raw)]
    found = []
    for judge, by_name in biases(raw).items():
        known = {name: bias for name, bias in by_name.items() if bias is not None}
        if not known:
            found.append(tables.failed_row(f"{what} (judge: {judge})", target, {"failed": reason(raw)}))
            continue
        worst = max(known, key=lambda name: abs(known[name]))
        nanoseconds, blocks = problems.spin_of_name(worst)
        text = (f"at most {abs(known[worst]) * 1e6:.3f} µs (spin {nanoseconds / 1000:g} µs, blocks {blocks}); "
                f"{len(known)} of {len(by_name)} kernels measured")
        complete = len(known) == len(by_name)
        within = abs(known[worst]) <= TARGET_SECONDS
        found.append(tables.Row(f"{what} (judge: {judge})", target, text, within if complete or not within else None))
    return found


def reason(raw):
    return "; ".join(failures(raw)) or "no kernel was measured by both"


def failures(raw):
    found = []
    ours = {"jitterscope": raw["jitterscope"], "jitterscope --instrument cupti": raw["jitterscope_cupti"]}
    for label, part in (ours | raw["peers"]).items():
        if "failed" in part:
            found.append(f"{label}: {part['failed']}")
        found += [f"{label}, {name}: {times['failed']}" for name, times in part.get("times", {}).items()
                  if "failed" in times]
    return found


def details(raw):
    if "failed" in raw:
        return ""
    reference = raw["peers"]["cupti"].get("times", {})
    measured, own = (raw[key].get("times", {}) for key in ("jitterscope", "jitterscope_cupti"))
    headings = ["spin", "blocks", "CUPTI (torch.profiler)", "jitterscope", "bias", "bias against its own CUPTI",
                *(f"bias of {peer_runs.TOOL_LABELS[tool]}" for tool in OTHERS)]
    lines = []
    for name in raw["names"]:
        nanoseconds, blocks = problems.spin_of_name(name)
        others = [difference(raw["peers"][tool].get("times", {}), reference, name) for tool in OTHERS]
        lines.append([f"{nanoseconds / 1000:g}", blocks, tables.microseconds(peer_runs.seconds_of(reference, name)),
                      tables.microseconds(peer_runs.seconds_of(measured, name)),
                      tables.signed_microseconds(difference(measured, reference, name)),
                      tables.signed_microseconds(difference(measured, own, name)),
                      *map(tables.signed_microseconds, others)])
    text = "All in µs. Bias: the tool's time less CUPTI's kernel time (median of 100 launches in another process).\n\n"
    text += tables.table(headings, lines, left_columns=0)
    problems_found = failures(raw)
    return text + ("\n\n" + tables.problem_list(problems_found) if problems_found else "")
