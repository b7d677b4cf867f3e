"""The fenced code blocks of Markdown pages, and the command lines in them."""

import dataclasses
import re
import shlex

FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(\S*)")
NOT_RUN = re.compile(r"^\s*<!-- not run: (.+) -->\s*$")
# What ends a command in a shell.
ENDS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "(", ")"}


@dataclasses.dataclass
class Block:
    place: str      # FILE:LINE of the fence
    language: str
    lines: list     # (line number, text)
    not_run: str    # the reason, or empty

    def text(self):
        return "".join(line + "\n" for _, line in self.lines)


def blocks_of(name, text):
    """All fenced blocks of a page; a comment <!-- not run: reason --> may stand before one."""
    blocks, fence, reason = [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence = match.group(1)
            blocks.append(Block(f"{name}:{number}", match.group(2), [], reason))
        elif fence is not None and match and match.group(1).startswith(fence) and not match.group(2):
            fence, reason = None, ""
        elif fence is not None:
            blocks[-1].lines.append((number, line))
        elif line.strip():
            mark = NOT_RUN.match(line)
            reason = mark.group(1) if mark else ""
    return blocks


def words_of(line):
    """The words of a command line up to a pipe or a comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word in ENDS:
            break
        words.append(word)
    return words


def commands_of(block):
    """(line number, words) of each line that calls jitterscope; a backslash continues a line."""
    if block.language not in ("", "bash", "console", "sh", "shell") or block.not_run:
        return
    pending, began = "", 0
    for number, line in block.lines:
        line = line.strip().removeprefix("$ ")
        if not pending and not line.startswith("jitterscope "):
            continue
        began = began if pending else number
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield began, words_of(pending)
        pending = ""
