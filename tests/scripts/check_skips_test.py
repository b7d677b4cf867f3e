"""scripts/check-skips reads what this ctest writes: real tests are run by it, passing, failing and skipped."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check-skips"
# As gtest_discover_tests declares a test.
SKIPS = 'add_test({name} "/bin/echo" "[  SKIPPED ]")\n'
PROPERTIES = 'set_tests_properties({name} PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]" LABELS "{label}")\n'


def ctest_file(name, label, kind):
    command = {"complains": f'add_test({name} "/bin/ls" "/no/such/file")\n',
               "passes": f'add_test({name} "/bin/true")\n', "fails": f'add_test({name} "/bin/false")\n',
               "skips": SKIPS.format(name=name), "rings": f'add_test({name} "/bin/printf" "\\\\a<&>")\n', "not_built": f'add_test({name} "/nonexistent")\n',
               "disabled": f'add_test({name} "/bin/true")\nset_tests_properties({name} PROPERTIES DISABLED TRUE)\n'}[kind]
    return command + PROPERTIES.format(name=name, label=label)


def check(tests, gpu):
    """Exit status and output for these (name, label, kind of outcome)."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "CTestTestfile.cmake").write_text("".join(ctest_file(*test) for test in tests))
        subprocess.run(["ctest", "--output-junit", "junit.xml"], cwd=path, capture_output=True, check=False)
        run = subprocess.run([sys.executable, SCRIPT, "--gpu", gpu, path, path / "junit.xml"], capture_output=True,
                             text=True, check=False)
        return run.returncode, run.stdout


class CheckSkips(unittest.TestCase):
    def test_passing_tests_pass(self):
        self.assertEqual(check([("a", "unit", "passes"), ("b", "slow", "passes")], "no"),
                         (0, "2 passed, 0 failed, 0 skipped\n"))

    def test_a_gpu_test_may_be_skipped_without_a_gpu(self):
        self.assertEqual(check([("a", "unit", "passes"), ("g", "gpu", "skips")], "no"),
                         (0, "1 passed, 0 failed, 1 skipped\n"))

    def test_a_gpu_test_must_run_on_a_gpu(self):
        status, output = check([("g", "gpu", "skips")], "yes")
        self.assertEqual(status, 1)
        self.assertIn("should have run on this machine: g\n0 passed, 1 failed, 0 skipped", output)

    def test_no_other_test_may_be_skipped_or_disabled(self):
        for label in ["unit", "cpu", "slow", ""]:
            for kind in ["skips", "disabled"]:
                status, output = check([("a", "unit", "passes"), ("s", label, kind)], "no")
                self.assertEqual(status, 1, output)
                self.assertIn("skipped, but should have run on this machine: s", output)

    def test_failures_and_missing_programs_fail(self):
        for kind in ["fails", "not_built"]:
            status, output = check([("f", "gpu", kind), ("a", "unit", "passes")], "no")
            self.assertEqual(status, 1)
            self.assertTrue(output.startswith("failed: f\n"), output)
            self.assertIn("\n1 passed, 1 failed, 0 skipped", output)

    def test_what_a_failed_test_said_stands_below_its_name(self):
        output = check([("f", "unit", "complains"), ("a", "unit", "passes")], "no")[1]
        self.assertRegex(output, r"failed: f\n  .*/no/such/file.*\n1 passed")

    def test_output_that_xml_cannot_hold_is_no_problem(self):
        self.assertEqual(check([("r", "unit", "rings")], "no"), (0, "1 passed, 0 failed, 0 skipped\n"))

    def test_no_tests_at_all_is_a_failure(self):
        self.assertNotEqual(check([], "no")[0], 0)


if __name__ == "__main__":
    unittest.main()
