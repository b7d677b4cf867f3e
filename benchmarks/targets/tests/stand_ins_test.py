"""The table of stand-ins, on a jitterscope that is made up."""

import contextlib
import io
import os
import unittest
from unittest import mock

import fakes
import measure_stand_ins


def run(*arguments, jitterscope=fakes.JITTERSCOPE, environment=None):
    """(exit status, what was printed, what was said on stderr)"""
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said), \
            mock.patch.dict(os.environ, environment or {}):
        try:
            status = measure_stand_ins.main(["--jitterscope", str(jitterscope), *arguments])
        except SystemExit as ended:
            status = ended.code
    return status, printed.getvalue(), said.getvalue()


class StandIns(unittest.TestCase):
    def test_each_operation_has_a_line(self):
        status, printed, _ = run("--only", "avg_pool:n=2048")
        self.assertEqual(status, 0)
        self.assertEqual(printed.count("| avg_pool:n=2048,c=2048,hw=7,window=7"), 2 * 2 * 3)

    def test_batch_norms_are_those_that_a_stand_in_runs(self):
        _, printed, _ = run("--only", "batch_norm")
        self.assertEqual(printed.count("| batch_norm:"), 2 * 3)
        self.assertEqual(printed.count("dtype=bf16"), 2 * 3)

    def test_what_training_must_read_twice_counts_twice(self):
        for text, factor in (("batch_norm:n=1,pass=forward", 1.5), ("batch_norm:n=1,pass=backward,dtype=bf16", 5 / 3),
                             ("batch_norm:n=1,pass=inference", 1), ("layer_norm:rows=1,pass=forward", 1)):
            self.assertAlmostEqual(measure_stand_ins.bytes_moved(text, {"minimum_bytes": 12}), 12 * factor)

    def test_a_failure_costs_its_own_line_only(self):
        status, printed, _ = run("--only", "bias_add", environment={"FAKE_LACKS": "bias_add"})
        self.assertEqual(status, 0)
        self.assertEqual(printed.count("out of memory"), 2 * 3)

    def test_a_jitterscope_that_cannot_run_is_one_sentence(self):
        status, _, said = run(jitterscope="/nonexistent/jitterscope")
        self.assertEqual(status, 2)
        self.assertIn("/nonexistent/jitterscope is no program that can be run", said)
        status, _, said = run(environment={"FAKE_FAILS": "copy"})
        self.assertEqual(status, 3)
        self.assertIn("the GPU fell off the bus", said)
        self.assertEqual(said.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
