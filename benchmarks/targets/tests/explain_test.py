"""The table of quick studies, on a jitterscope that is made up."""

import contextlib
import io
import os
import unittest
from unittest import mock

import fakes
import measure_explain


def run(*arguments, environment=None):
    """(exit status, cells of each operation's line by heading)"""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), mock.patch.dict(os.environ, environment or {}):
        status = measure_explain.main(["--jitterscope", str(fakes.JITTERSCOPE), *arguments])
    lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in printed.getvalue().splitlines()]
    return status, [dict(zip(lines[0], cells)) for cells in lines[2:]]


class QuickStudies(unittest.TestCase):
    def test_each_operation_has_a_line_that_counts_verdicts(self):
        status, lines = run()
        self.assertEqual(status, 0)
        self.assertEqual([line["operation"] for line in lines], list(measure_explain.OPERATIONS))
        for line in lines:
            self.assertEqual((line["with a verdict"], line["factors in all"], line["target"]), ("3", "6", "missed"))
            self.assertEqual((line["causes"], line["cleared"], line["not tried"]), ("load, cache", "idle", "heap"))

    def test_ten_verdicts_in_time_meet_the_target(self):
        factors = [{"id": str(i), "verdict": "cleared"} for i in range(10)]
        self.assertIn("met", measure_explain.row("add", 34.9, factors, 30.0))
        self.assertIn("missed", measure_explain.row("add", 35.1, factors, 30.0))
        self.assertIn("missed", measure_explain.row("add", 34.9, factors[1:], 30.0))

    def test_what_fails_costs_its_own_line_only(self):
        status, lines = run(environment={"FAKE_FAILS": "add"})
        self.assertEqual(status, 1)
        failed = [line["operation"] for line in lines if "the GPU fell off the bus" in line["wall, s"]]
        self.assertEqual(failed, ["add:count=1Mi"])


if __name__ == "__main__":
    unittest.main()
