"""targets.md and targets.json from what the parts measured."""

import json
import os
import platform

import tables


def documents_of(raw):
    """Every jitterscope document in it, however deep."""
    if isinstance(raw, dict):
        if raw.get("format") == "jitterscope-record":
            yield raw
            return
        raw = list(raw.values())
    if isinstance(raw, list):
        for each in raw:
            yield from documents_of(each)


def library_text(library):
    if library.get("problem"):
        return f"{library['name']} not usable ({library['problem']})"
    return f"{library['name']} {library.get('version', 'of unknown version')}"


def environment_lines(raw):
    """What and where, as a list; unknown where no process could tell."""
    document = next(documents_of(raw["parts"]), {})
    device = document.get("device", {})
    peers = raw["peers_environment"]
    properties = device.get("properties", {})
    version = document.get("environment", {}).get("tool_version", "unknown")
    lines = [f"GPU: {device.get('name') or peers.get('gpu', 'unknown')}, {device.get('processors', '?')} SMs, driver "
             f"{properties.get('driver_version', 'unknown')}, power limit {properties.get('power_limit_watts', '?')} W; "
             "clocks left as they were found",
             f"jitterscope: {version}, with {', '.join(map(library_text, device.get('libraries', []))) or 'unknown'}"]
    if "failed" in peers:
        lines.append(f"others: unknown ({peers['failed']})")
    else:
        lines.append(f"others: PyTorch {peers['torch']} (CUDA {peers['cuda']}, cuDNN {peers['cudnn']}), Triton "
                     f"{peers['triton']}, CuPy {peers['cupy']}, Python {peers['python']}")
    lines += [f"host: Linux {platform.release()}, {os.cpu_count()} cores", f"date: {raw['date']}",
              f"command: `{raw['command']}` ({raw['seconds']:.0f} s)"]
    return lines


def markdown(raw, parts):
    """parts: name to module, in the order of the report."""
    rows = [row for name, part in parts.items() if name in raw["parts"] for row in part.rows(raw["parts"][name])]
    sections = ["# Targets, measured"]
    if raw["quick"]:
        sections.append("Made with `--quick`: fewer kernels and processes, so that no target is judged by it.")
    sections += ["\n".join(f"- {line}" for line in environment_lines(raw)), tables.summary(rows)]
    for name, part in parts.items():
        text = part.details(raw["parts"][name]) if name in raw["parts"] else ""
        if text:
            sections += [f"## {part.TITLE}", text]
    return "\n\n".join(sections) + "\n"


def write(folder, raw, parts):
    """Both files, complete or as they were: the call may be ended at any moment."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"targets.json": json.dumps(raw, separators=(",", ":")), "targets.md": markdown(raw, parts)}
    for name, text in texts.items():
        partial = folder / f".{name}.partial"
        partial.write_text(text, encoding="utf-8")
        partial.replace(folder / name)
    return texts["targets.md"]
