"""The plug-in of pytest, in sessions of its own."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TEST = """
import time

def test_wait(gpu_benchmark):
    # Longer than what a busy machine adds, which would leave nothing to tell apart.
    measured = gpu_benchmark(lambda: time.sleep(0.002), device="cpu", precision=0.5, time_limit=0.2)
    assert measured.median > 0

def test_on_the_gpu(gpu_benchmark):
    gpu_benchmark(lambda: None)
"""


class Sessions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write(TEST)

    def write(self, text):
        (self.folder / "test_it.py").write_text(text, encoding="utf-8")

    def pytest(self, *words):
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "jitterscope.pytest_plugin", "-p", "no:cacheprovider",
                               "-rs", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def change_what_is_kept(self, factor, **others):
        path = self.folder / ".jitterscope" / "base.json"
        kept = json.loads(path.read_text())
        kept["benchmarks"]["test_it.py::test_wait"]["median"] *= factor
        kept["benchmarks"]["test_it.py::test_wait"].update({"precision": 0.001, **others})
        path.write_text(json.dumps(kept))

    def test_a_table_stands_at_the_end_and_no_gpu_is_a_reason_to_skip(self):
        code, said = self.pytest("-k", "wait")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"gpu benchmarks[^\n]*\n+test.*95 % interval[^\n]*\ntest_it.py::test_wait +[\d.]+ .s")
        if not pathlib.Path("/dev/nvidiactl").exists():
            code, said = self.pytest("-k", "on_the_gpu")
            self.assertRegex(said, "SKIPPED.*gpu_benchmark: cuda:0 cannot be used")
            self.assertNotIn("gpu benchmarks =", said)

    def test_a_page_of_all_times(self):
        code, said = self.pytest("-k", "wait", "--gpu-benchmark-report", "times.html")
        self.assertEqual(code, 0, said)
        self.assertIn("Distribution of times: test_wait", (self.folder / "times.html").read_text(encoding="utf-8"))

    def test_what_was_kept_is_compared_with(self):
        only = ["-k", "wait"]
        self.assertEqual(self.pytest(*only, "--gpu-benchmark-save", "base")[0], 0)
        compare = [*only, "--gpu-benchmark-compare", "base"]
        self.change_what_is_kept(100)
        code, said = self.pytest(*compare, "--gpu-benchmark-fail", "slower:2%")
        self.assertEqual(code, 0, said)
        self.assertIn("faster", said)
        self.change_what_is_kept(1e-4)
        code, said = self.pytest(*compare)
        self.assertEqual(code, 0, said)
        self.assertIn("slower", said)
        code, said = self.pytest(*compare, "--gpu-benchmark-fail", "slower:2%")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, "is slower than the .* kept")
        self.change_what_is_kept(1, device="another GPU")
        code, said = self.pytest(*compare, "--gpu-benchmark-fail", "slower:2%")
        self.assertEqual(code, 0, said)
        self.assertIn("another device", said)

    def test_several_times_of_a_test_have_a_line_each(self):
        self.write("def test_two(gpu_benchmark):\n"
                   "    for _ in range(2):\n"
                   "        gpu_benchmark(lambda: None, device='cpu', precision=0.9, time_limit=0.1)\n")
        self.assertIn("test_two#2", self.pytest()[1])

    def test_what_the_callable_raises_fails_the_test(self):
        self.write("def test_it(gpu_benchmark):\n    gpu_benchmark(lambda: 1 / 0, device='cpu')\n")
        code, said = self.pytest()
        self.assertEqual(code, 1)
        self.assertIn("ZeroDivisionError", said)

    def test_options_that_make_no_sense_are_refused(self):
        for words, sentence in [(["--gpu-benchmark-fail", "slower:2%"], "needs --gpu-benchmark-compare"),
                                (["--gpu-benchmark-compare", "absent"], "absent.json is not there"),
                                (["--gpu-benchmark-save", "../x"], "a name of letters"),
                                (["--gpu-benchmark-compare", "x", "--gpu-benchmark-fail", "2"], "write slower:2%")]:
            code, said = self.pytest(*words)
            self.assertEqual(code, 4, said)
            self.assertIn(sentence, said)


if __name__ == "__main__":
    unittest.main()
