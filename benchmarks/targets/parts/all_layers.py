"""All layers of ResNet-50, three directions: how long, and how much memory."""

import jitterscope_runs
import tables

TITLE = "All layers of ResNet-50"
TARGET_SECONDS = 90.0
TARGET_BYTES = 200e6
LIMIT_SECONDS = 240.0
MODEL, QUICK_MODEL = "resnet50", "resnet18"


def measure(session):
    model = QUICK_MODEL if session.quick else MODEL
    raw = jitterscope_runs.run(session, [model], ["--load", "burst", "--cache", "warm,cold"], LIMIT_SECONDS)
    raw["model"] = model
    return raw


def rows(raw):
    what = "all layers of ResNet-50, three directions, burst, warm and cold"
    if "failed" in raw:
        return [tables.failed_row(what, "at most 90 s", raw),
                tables.failed_row("memory of that run besides the operands", "under 200 MB", raw)]
    shortened = raw["model"] != MODEL
    suffix = f" ({raw['model']} in place of it)" if shortened else ""
    failed = sum(1 for result in raw["document"]["results"] if result.get("failure"))
    complete = not shortened and not failed
    text = f"{raw['wall_seconds']:.1f} s for {len(raw['document']['results'])} operations"
    if failed:
        text += f", {failed} of them failed"
    in_time = raw["wall_seconds"] <= TARGET_SECONDS
    memory = raw["peak_memory_bytes"]
    small = memory < TARGET_BYTES
    return [tables.Row(what + suffix, "at most 90 s", text, in_time if complete else None),
            tables.Row("memory of that run besides the operands" + suffix, "under 200 MB", memory_text(raw),
                       small if complete or not small else None)]


def memory_text(raw):
    fields = raw["memory_bytes"]
    text = f"{tables.megabytes(raw['peak_memory_bytes'])} resident at the peak (VmHWM)"
    if "RssAnon" in fields and "RssFile" in fields:
        text += (f": {tables.megabytes(fields['RssAnon'])} of the process's own, "
                 f"{tables.megabytes(fields['RssFile'])} mapped files")
    return text


def precision_counts(document):
    """(measurements that reached the precision asked for, all measurements)."""
    found = [each for result in document["results"] for each in result["measurements"]]
    return sum(1 for each in found if each["stop_reason"] == "precision"), len(found)


def details(raw):
    if "failed" in raw:
        return ""
    document = raw["document"]
    reached, total = precision_counts(document)
    measuring = sum(max((each["duration_seconds"] for each in result["measurements"]), default=0.0)
                    for result in document["results"])
    preparing = sum(result["prepare_seconds"] for result in document["results"])
    lines = [["whole process", f"{raw['wall_seconds']:.1f} s"],
             ["of it: measuring (each operation's longest measurement)", f"{measuring:.1f} s"],
             ["of it: preparing operations", f"{preparing:.1f} s"],
             ["operations", len(document["results"])],
             ["measurements that reached ± 0.5 %", f"{reached} of {total}"],
             ["peak resident memory (VmHWM)", tables.megabytes(raw["peak_memory_bytes"])],
             *([f"largest {name}", tables.megabytes(value)] for name, value in sorted(raw["memory_bytes"].items())
               if name != "VmHWM")]
    failed = [f"{result['operation']}: {result['failure']}" for result in document["results"] if result.get("failure")]
    text = tables.table(["", ""], lines)
    text += ("\n\nThe operands are in GPU memory and no part of these numbers. The mapped files are the CUDA "
             "libraries, of which what was touched is resident; memory of the process's own includes what the driver "
             "and these libraries allocate.")
    return text + ("\n\n" + tables.problem_list(failed) if failed else "")
