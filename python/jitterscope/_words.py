"""Sentences of the command line with its flags replaced by this module's words: a reader in Python has no flags."""

from __future__ import annotations

import re
import textwrap

_SENTENCES = [
    (r"More: --details here, --csv FILE a row for each time, --json FILE everything\.",
     "More: text(details=True), record for everything, save(FILE), html(FILE) a page with plots."),
    (r"Every round and launch: --json FILE, --csv-launches FILE\.", "Every round and launch: record, save(FILE)."),
    (r": --top all shows them, --details all that is known of each\.",
     ": text(top=N) shows N of them, text(details=True) all that is known of each."),
    (r"; all: --top all\.", "; N of them: text(top=N)."),
    (r"\((?:--(?:html|json) FILE or )?COLUMNS=(\d+) shows all\)", r"(text(width=\1) shows all)"),
    (r"--findings all", 'text(findings="all")'),
    (r"--details", "text(details=True)"),
    (r"--json(?: FILE| -)?", "record"),
    (r"--reference-clock (\d+)", r"reference_clock (\1 MHz)"),
]
# Arguments of js.measure, js.compare and js.explain; other flags exist on the command line, and as arguments of js.run.
_SWITCHES = {"kernels", "counters"}
_WITH_WORDS = {"cache", "load", "queue", "instrument", "device"}
_OTHERS = {"precision", "time-limit", "sustained-time-limit", "reference-clock", "seed", "processes", "margin", "factors",
           "max-time"}
_COMMAND = re.compile(r"(jitterscope [a-z-]+(?: [^\s,;]+)*)")  # its flags are its own
_FLAG = re.compile(r"--(?P<name>[a-z][a-z-]*)(?: (?P<value>[\w,:.]*\w))?")
_STARTS = re.compile(r"\s*(?:\||[-*] |\d+\. |\*\*|Remedy: |More: |Every )")  # what goes on in no line above it


def _argument(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    argument = name.replace("-", "_")
    if name in _WITH_WORDS and value:
        listed = [f'"{word}"' for word in value.split(",")]
        return f"{argument}={listed[0]}" if len(listed) == 1 else f"{argument}=[{', '.join(listed)}]"
    rest = f" {value}" if value else ""
    if name == "processes" and value and value.isdigit():
        return f"{argument}={value}"
    if name in _SWITCHES:
        return f"{argument}=True{rest}"
    if name in _WITH_WORDS or name in _OTHERS:
        return argument + rest
    return f"`--{name}` of the command line{rest}"


def in_python(sentence: str) -> str:
    """One sentence or several, of any length."""
    parts = _COMMAND.split(sentence)
    for i in range(0, len(parts), 2):
        for pattern, words in _SENTENCES:
            parts[i] = re.sub(pattern, words, parts[i])
        parts[i] = _FLAG.sub(_argument, parts[i])
    return "".join(parts)


def _wrapped(lines: list[str], width: int) -> list[str]:
    """A paragraph; as it is where nothing in it changes."""
    whole = " ".join(line.strip() for line in lines)
    said = in_python(whole)
    if said == whole or lines[0].startswith("|"):
        return lines
    first = lines[0][:len(lines[0]) - len(lines[0].lstrip())]
    item = re.match(r"[-*] |\d+\. ", lines[0].lstrip())
    return textwrap.wrap(said, width, initial_indent=first, subsequent_indent=first + " " * (len(item[0]) if item else 0),
                         break_long_words=False, break_on_hyphens=False)


def page_in_python(text: str, width: int) -> str:
    """A page of paragraphs, lists and tables; tables stay."""
    paragraphs: list[list[str]] = []
    for line in text.split("\n"):
        goes_on = paragraphs and paragraphs[-1][0].strip() and line.strip() and not _STARTS.match(line)
        if goes_on:
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    return "\n".join(line for paragraph in paragraphs for line in _wrapped(paragraph, width))
