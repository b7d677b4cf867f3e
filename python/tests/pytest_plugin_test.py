"""The plug-in of pytest, in sessions of its own."""

import json
import pathlib
import re
import shutil
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

    def keep(self, **others):
        folder = self.folder / ".jitterscope"
        folder.mkdir()
        document = {"format": "jitterscope-benchmarks", "version": 1, "benchmarks": {}, **others}
        (folder / "base.json").write_text(json.dumps(document))

    def test_a_file_that_another_version_wrote_is_named(self):
        test = "test_it.py::test_wait"
        whole = {"median": 1.0, "precision": 0.1, "device": "CPU"}
        self.keep()
        for others, sentence in [({"version": 99}, "is of version 99, and this jitterscope reads version 1"),
                                 ({"format": "mine"}, "holds no benchmarks"), ({"benchmarks": []}, "has no benchmarks"),
                                 *[({"benchmarks": {test: {**whole, key: None}}}, f"{test} has no {key}") for key in whole]]:
            shutil.rmtree(self.folder / ".jitterscope")
            self.keep(**others)
            for option in ("compare", "save"):
                code, said = self.pytest(f"--gpu-benchmark-{option}", "base")
                self.assertEqual(code, 4, said)
                self.assertIn(sentence, said)
                self.assertRegex(said, r"base.json .*delete it, and --gpu-benchmark-save base writes it anew")

    def test_what_cannot_be_written_is_refused_before_anything_is_measured(self):
        (self.folder / "a file").touch()
        (self.folder / ".jitterscope" / "base.json").mkdir(parents=True)
        for words, sentence in [(["--gpu-benchmark-save", "base"], "base.json is a folder"),
                                (["--gpu-benchmark-report", "no/such/folder.html"], "no/such is not there"),
                                (["--gpu-benchmark-report", "a file/times.html"], "a file is a file"),
                                (["--gpu-benchmark-report", "."], "is a folder")]:
            code, said = self.pytest(*words)
            self.assertEqual(code, 4, said)
            self.assertIn(sentence, said)
            self.assertNotIn("Traceback", said)
        shutil.rmtree(self.folder / ".jitterscope")
        (self.folder / ".jitterscope").touch()
        code, said = self.pytest("--gpu-benchmark-save", "base")
        self.assertEqual(code, 4, said)
        self.assertIn(".jitterscope is a file, and a folder is needed there", said)

    def test_what_cannot_be_written_in_the_end_is_said_and_kept_elsewhere(self):
        self.write(TEST + "\ndef test_spoil():\n    import pathlib\n    pathlib.Path('.jitterscope').touch()\n"
                          "    pathlib.Path('times.html').mkdir()\n")
        code, said = self.pytest("-k", "wait or spoil", "--gpu-benchmark-save", "base", "--gpu-benchmark-report", "times.html")
        self.assertEqual(code, 1, said)
        self.assertNotIn("Traceback", said)
        self.assertRegex(said, "--gpu-benchmark-report: .*times.html")
        self.assertRegex(said, "--gpu-benchmark-save: .*base.json was not written")
        elsewhere = pathlib.Path(re.search(r"the times are in (\S+)", said).group(1))
        self.addCleanup(elsewhere.unlink)
        self.assertIn("test_it.py::test_wait", json.loads(elsewhere.read_text())["benchmarks"])

    def test_a_page_that_fails_leaves_the_times(self):
        self.write(TEST + "\ndef test_spoil():\n    import pathlib\n    pathlib.Path('times.html').mkdir()\n")
        code, said = self.pytest("-k", "wait or spoil", "--gpu-benchmark-save", "base", "--gpu-benchmark-report", "times.html")
        self.assertEqual(code, 1, said)
        self.assertTrue((self.folder / ".jitterscope" / "base.json").is_file())

    def test_too_few_rounds_decide_nothing_and_are_named(self):
        slow = ("import time\ndef test_slow(gpu_benchmark):\n"
                "    gpu_benchmark(lambda: time.sleep({}), device='cpu', time_limit=0.01, minimum_rounds=1)\n")
        self.write(slow.format(0.01))
        code, said = self.pytest("--gpu-benchmark-save", "base")
        self.assertEqual(code, 0, said)
        self.assertNotIn("nan", said)
        self.assertNotIn("NaN", (self.folder / ".jitterscope" / "base.json").read_text())
        self.write(slow.format(0.1))
        code, said = self.pytest("--gpu-benchmark-compare", "base", "--gpu-benchmark-fail", "slower:2%")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_slow .* – +1[\d.]* ms +about [\d.]+ +too few rounds to compare")
        self.assertNotIn("nan", said)
        self.assertNotIn("no difference shown", said)

    def test_times_of_tests_that_were_not_run_stay(self):
        one = "    for _ in range({}):\n        gpu_benchmark(lambda: None, device='cpu', precision=0.9, time_limit=0.1)\n"
        text = "def test_one(gpu_benchmark):\n" + one + "def test_other(gpu_benchmark):\n" + one
        kept = self.folder / ".jitterscope" / "base.json"
        self.write(text.format(2, 1))
        self.assertEqual(self.pytest("--gpu-benchmark-save", "base")[0], 0)
        before = json.loads(kept.read_text())["benchmarks"]
        self.assertEqual(list(before), [f"test_it.py::test_{name}" for name in ("one", "one#2", "other")])
        self.write(text.format(1, 1))
        self.assertEqual(self.pytest("--gpu-benchmark-save", "base", "-k", "test_one")[0], 0)
        after = json.loads(kept.read_text())["benchmarks"]
        self.assertEqual(set(after), {"test_it.py::test_one", "test_it.py::test_other"})
        self.assertEqual(after["test_it.py::test_other"], before["test_it.py::test_other"])
        self.assertNotEqual(after["test_it.py::test_one"], before["test_it.py::test_one"])

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
