"""Markdown tables and the text of numbers in them."""

from dataclasses import dataclass

NOT_MEASURED = "–"


@dataclass(frozen=True)
class Row:
    """One target. met is nothing where it could not be judged."""
    what: str
    target: str
    measured: str
    met: bool | None


def table(headings, rows, left_columns=1):
    """Markdown table; the first columns are text, the others numbers."""
    rules = ["---"] * left_columns + ["--:"] * (len(headings) - left_columns)
    return "\n".join(line(cells) for cells in (headings, rules, *rows))


def line(cells):
    """One row of a table."""
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def escape(cell):
    return str(cell).replace("|", "\\|").replace("\n", " ")


def microseconds(seconds, digits=3):
    return NOT_MEASURED if seconds is None else f"{seconds * 1e6:.{digits}f}"


def signed_microseconds(seconds):
    return NOT_MEASURED if seconds is None else f"{seconds * 1e6:+.3f}"


def time_text(seconds):
    """Four digits or more: a target is 0.2 %."""
    value = seconds * 1e6
    digits = 4 if value < 10 else 3 if value < 100 else 2 if value < 1000 else 1
    return f"{value:.{digits}f}"


def percent(ratio, digits=2):
    return NOT_MEASURED if ratio is None else f"{ratio * 100:.{digits}f} %"


def megahertz(hertz):
    return NOT_MEASURED if hertz is None else f"{hertz * 1e-6:.0f} MHz"


def megabytes(number):
    return NOT_MEASURED if number is None else f"{number * 1e-6:.0f} MB"


def verdict(met):
    return {True: "yes", False: "no", None: "not measured"}[met]


def failed_row(what, target, raw):
    return Row(what, target, f"failed: {raw['failed']}", None)


def summary(rows):
    return table(["what", "target", "measured", "met"],
                 [[row.what, row.target, row.measured, verdict(row.met)] for row in rows], left_columns=4)


def problem_list(problems):
    """What could not be measured, as a list below a table."""
    return "\n".join(f"- {problem}" for problem in problems)
