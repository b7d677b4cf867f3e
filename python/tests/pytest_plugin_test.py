"""The plug-in of pytest, in sessions of its own."""

import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

from jitterscope import _pytest_pairs
from jitterscope._fresh_times import Turns

TEST = """
import time

def test_wait(gpu_benchmark):
    # Longer than what a busy machine adds, which would leave nothing to tell apart.
    measured = gpu_benchmark(lambda: time.sleep(0.002), device="cpu", precision=0.5, time_limit=0.2)
    assert measured.median > 0

def test_on_the_gpu(gpu_benchmark):
    gpu_benchmark(lambda: None)
"""
# What fresh processes would find, as "script.json" says: by session of theirs how much longer everything takes. Without
# the script nothing is found.
SCRIPTED = """
import json, pathlib, random
import jitterscope.pytest_plugin as plugin
from jitterscope._verdict import Found

def found(config, tests, count):
    path = pathlib.Path(__file__).parent / "script.json"
    script = json.loads(path.read_text()) if path.exists() else {"change": []}
    if not script["change"]:
        return {}, script.get("problem", "")
    change, machine, draw = script["change"].pop(0), script.get("machine", 0.0), random.Random(len(script["change"]))
    path.write_text(json.dumps(script))
    times = [0.002 * (1 + change) * draw.uniform(0.99, 1.01) for _ in range(count)]
    return {test: [Found(time, time, (1 + machine) * draw.uniform(0.99, 1.01)) for time in times] for test in tests}, ""

plugin.found_in_fresh_processes = found
"""
TEST_WAIT = "test_it.py::test_wait"
FEW = ["--gpu-benchmark-processes", "6"]


class Session(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write(TEST)
        (self.folder / "conftest.py").write_text(SCRIPTED, encoding="utf-8")

    def find(self, *change, **others):
        """Scripts fresh processes."""
        (self.folder / "script.json").write_text(json.dumps({"change": change, **others}), encoding="utf-8")

    def write(self, text):
        (self.folder / "test_it.py").write_text(text, encoding="utf-8")

    def pytest(self, *words):
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "jitterscope.pytest_plugin", "-p", "no:cacheprovider",
                               "-rs", *words], cwd=self.folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class Sessions(Session):
    def kept(self):
        return json.loads((self.folder / ".jitterscope" / "base.json").read_text())["benchmarks"]

    def test_a_table_stands_at_the_end_and_no_gpu_is_a_reason_to_skip(self):
        code, said = self.pytest("-k", "wait")
        self.assertEqual(code, 0, said)
        # Beside other work a measurement of some rounds may have no interval.
        self.assertRegex(said, r"gpu benchmarks[^\n]*\n+test +time[^\n]*\ntest_it.py::test_wait +[\d.]+ .?s")
        if not pathlib.Path("/dev/nvidiactl").exists():
            code, said = self.pytest("-k", "on_the_gpu")
            self.assertRegex(said, "SKIPPED.*gpu_benchmark: cuda:0 cannot be used")
            self.assertNotIn("gpu benchmarks =", said)

    def test_a_page_of_all_times(self):
        code, said = self.pytest("-k", "wait", "--gpu-benchmark-report", "times.html")
        self.assertEqual(code, 0, said)
        self.assertIn("Distribution of times: test_wait", (self.folder / "times.html").read_text(encoding="utf-8"))

    def save(self):
        self.find(0.0)
        code, said = self.pytest("-k", "wait", "--gpu-benchmark-save", "base")
        self.assertEqual(code, 0, said)
        self.assertIn("gpu benchmarks: 1 test in 16 fresh processes", said)
        self.assertEqual(len(self.kept()[TEST_WAIT]["processes"]), 16)

    def compare(self, *change, fail="slower:2%", **others):
        self.find(*change, **others)
        return self.pytest("-k", "wait", "--gpu-benchmark-compare", "base", *(["--gpu-benchmark-fail", fail] if fail else []))

    def test_what_fresh_processes_find_is_compared_with_what_they_found(self):
        self.save()
        code, said = self.compare(0.0)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_wait .* same")
        code, said = self.compare(0.05, 0.05)
        self.assertEqual(code, 1, said)
        self.assertIn(f"16 more processes for tests that seem to have changed: {TEST_WAIT}", said)
        self.assertRegex(said, r"slower than what was kept, \+[45]\.\d+ % \(\+4\.\d+ to \+5\.\d+ %\) in 32 fresh processes, and 2 % is the limit"
                         .replace(" %", " ?%"))
        code, said = self.compare(0.05, 0.05, fail="")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_wait .* \+[45]\.\d+ % \(\+4\.\d+ to \+5\.\d+ %\) +slower")
        # The change and its interval, and no second time whose quotient with the first is another change.
        self.assertNotIn("against", said)
        code, said = self.compare(-0.05, -0.05)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_wait .* faster")
        # The limit is the margin, too.
        code, said = self.compare(0.05, fail="slower:8%")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_wait .* same")

    def test_what_is_not_found_again_is_undecided(self):
        self.save()
        for change, others in [((0.05, 0.0, 0.0), {}), (6 * (0.06,), {"machine": 0.06})]:
            code, said = self.compare(*change, **others)
            self.assertEqual(code, 0, said)
            self.assertRegex(said, "test_wait .* undecided")
        self.assertRegex(said, "undecided: the machine itself is slower, \+[56]\.\d %")

    def test_what_fresh_processes_do_not_find_is_said(self):
        self.save()
        code, said = self.compare()
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"test_wait .* no fresh process timed it")
        code, said = self.compare(problem="a fresh process ended with exit code -11: it said nothing")
        self.assertEqual(code, 1, said)
        self.assertIn("gpu_benchmark: a fresh process ended with exit code -11", said)

    def test_times_of_another_device_are_not_compared(self):
        self.save()
        path = self.folder / ".jitterscope" / "base.json"
        path.write_text(path.read_text().replace(json.dumps(self.kept()[TEST_WAIT]["device"]), '"another GPU"', 1))
        code, said = self.compare(0.05, 0.05)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, "test_wait .* another device")

    def test_a_mistake_in_a_test_is_its_line_and_a_sentence(self):
        self.write("def test_it(gpu_benchmark):\n    gpu_benchmark(lambda: 1, device='cpu', cache='wram')\n")
        code, said = self.pytest()
        self.assertEqual(code, 1)
        self.assertRegex(said, r"E +jitterscope.UsageError: cache: there is no 'wram'; did you mean 'warm'\?")
        self.assertLess(len(said.splitlines()), 25, said)
        self.assertNotIn("_options.py", said)

    def keep(self, **others):
        folder = self.folder / ".jitterscope"
        folder.mkdir()
        document = {"format": "jitterscope-benchmarks", "version": 2, "benchmarks": {}, **others}
        (folder / "base.json").write_text(json.dumps(document))

    def test_a_file_that_another_version_wrote_is_named(self):
        test = "test_it.py::test_wait"
        whole = {"median": 1.0, "processes": [[1.0, 1.0, 1.0]], "device": "CPU"}
        self.keep()
        for others, sentence in [({"version": 99}, "is of version 99, and this jitterscope reads version 2"),
                                 ({"version": 1}, "is of version 1, and this jitterscope reads version 2"),
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
        for words, sentence in [(["--gpu-benchmark-fail", "slower:2%"], "or --gpu-benchmark-compare NAME"),
                                (["--gpu-benchmark-against", "HEAD"], "git: fatal: not a git repository"),
                                (["--gpu-benchmark-against", "HEAD", "--gpu-benchmark-save", "x"], "to another one"),
                                (["--gpu-benchmark-compare", "absent"], "absent.json is not there"),
                                (["--gpu-benchmark-save", "../x"], "a name of letters"),
                                (["--gpu-benchmark-compare", "x", "--gpu-benchmark-fail", "2"], "write slower:2%"),
                                (["--gpu-benchmark-processes", "3"], "6 to 1000; fewer cannot decide anything"),
                                (["--gpu-benchmark-processes", "few"], "6 to 1000")]:
            code, said = self.pytest(*words)
            self.assertEqual(code, 4, said)
            self.assertIn(sentence, said)
            self.assertRegex(said, r"^ERROR: [^\n]+\n+$")  # one line

    def test_fresh_processes_run_what_the_session_runs(self):
        """And nothing of it is scripted."""
        (self.folder / "conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--numbers', type=int)\n")
        self.write("""
import time
import pytest

def test_other():
    raise AssertionError("of no fresh process")

def test_sum(gpu_benchmark, request):
    numbers = request.config.getoption("numbers")
    gpu_benchmark(lambda: sum(range(numbers)), device="cpu", time_limit=0.05)
    if numbers < 2000:
        gpu_benchmark(lambda: time.sleep(1e-4), device="cpu", cache="cold", time_limit=0.05)
    pytest.fail("as a test may")

def test_more(gpu_benchmark):
    gpu_benchmark(lambda: [], device="cpu", time_limit=0.05)
""")
        words = ["-x", *FEW, "test_it.py::test_sum", "test_it.py::test_more", "--junitxml", "report.xml"]
        code, said = self.pytest("--numbers", "1000", "--gpu-benchmark-save", "base", *words)
        self.assertEqual(code, 1, said)
        self.assertIn("2 tests in 6 fresh processes", said)
        kept = self.kept()
        self.assertEqual(list(kept), ["test_it.py::test_sum", "test_it.py::test_sum#2"])  # -x is of this session
        for times in kept.values():
            self.assertEqual(len(times["processes"]), 6)
        self.assertTrue(all(machine > 0 for _, _, machine in kept["test_it.py::test_sum"]["processes"]))
        self.assertTrue(all(others == [None, None] for _, *others in kept["test_it.py::test_sum#2"]["processes"]))
        self.assertIn('failures="1"', (self.folder / "report.xml").read_text())
        # What it says depends on how busy this machine is; that it says something does not.
        code, said = self.pytest("--numbers", "3000", "--gpu-benchmark-compare", "base", *words)
        self.assertEqual(code, 1, said)
        self.assertIn("1 test in 6 fresh processes", said)
        self.assertRegex(said, r"test_it.py::test_sum +.* \(.+\) +(slower|faster|same|undecided)")

    def test_a_fresh_process_that_ends_early_is_named(self):
        (self.folder / "conftest.py").unlink()
        self.write(TEST + "\ndef test_dies(gpu_benchmark):\n    import os, sys\n"
                          "    if 'jitterscope' in sys.orig_argv:\n        os._exit(77)\n")
        code, said = self.pytest("-k", "wait or dies", "--gpu-benchmark-save", "base")
        self.assertEqual(code, 1, said)
        self.assertIn("gpu_benchmark: a fresh process ended with exit code 77", said)
        self.assertEqual(self.kept()[TEST_WAIT]["processes"], [])


class TakingTurns(unittest.TestCase):
    def test_a_turn_is_on_the_core_that_is_told(self):
        allowed, seen = os.sched_getaffinity(0), []
        turns = Turns(lambda: seen.append(os.sched_getaffinity(0)))
        self.assertTrue(turns.is_alone)
        for core in allowed:
            seen.clear()
            self.assertGreater(turns.take(core), 0)
            self.assertEqual(set(map(frozenset, seen)), {frozenset({core})})
            self.assertEqual(os.sched_getaffinity(0), allowed)
        seen.clear()
        turns.take()
        self.assertEqual(set(map(frozenset, seen)), {frozenset(allowed)})

    def test_what_others_work_for_is_not_bound_to_a_core(self):
        def in_a_thread():
            thread = threading.Thread(target=lambda: sum(range(100_000)))
            thread.start()
            thread.join()

        def in_a_process():
            subprocess.run([sys.executable, "-c", ""], check=True)
        for function in (in_a_thread, in_a_process):
            self.assertFalse(Turns(function).is_alone)

    def test_both_sides_have_the_same_core(self):
        class Side:
            def __init__(self, seconds):
                self.seconds, self.cores = seconds, []

            def turn(self, core):
                self.cores.append(core)
                return self.seconds
        for is_alone, cores in ((True, os.sched_getaffinity(0)), (False, {None})):
            sides = [Side(0.3), Side(0.1)]
            with unittest.mock.patch.object(_pytest_pairs, "_SECONDS", 0.0):
                ratio = _pytest_pairs._ratio(sides, 40, is_alone, random.Random(1))
            self.assertAlmostEqual(ratio, math.log(3))
            self.assertEqual(sides[0].cores, sides[1].cores)
            self.assertEqual(set(sides[0].cores), cores)


class Against(Session):
    """Pairs of processes, of which one has the code of another revision. What is timed differs by far more than any machine."""

    def setUp(self):
        super().setUp()
        (self.folder / "conftest.py").unlink()
        (self.folder / "work.py").write_text("def work():\n    return sum(range(20))\n", encoding="utf-8")
        self.write("import work\n\n\ndef test_work(gpu_benchmark):\n"
                   "    gpu_benchmark(work.work, device='cpu', time_limit=0.05)\n")
        self.git("init", "--quiet")
        self.commit()

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *words], cwd=self.folder, check=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "before")

    def test_the_code_of_a_revision_takes_turns_with_this_one(self):
        (self.folder / "work.py").write_text("def work():\n    return sum(range(20_000))\n", encoding="utf-8")
        self.write("import work\n\n\ndef test_new(gpu_benchmark):\n    gpu_benchmark(work.work, device='cpu', time_limit=0.05)\n\n\n"
                   "def test_work(gpu_benchmark):\n    gpu_benchmark(work.work, device='cpu', time_limit=0.05)\n")
        code, said = self.pytest(*FEW, "--gpu-benchmark-against", "HEAD", "--gpu-benchmark-fail", "slower:2%")
        self.assertEqual(code, 1, said)
        self.assertIn("2 tests in 6 pairs of processes, with this code and with that of HEAD", said)
        self.assertRegex(said, r"test_it.py::test_work: slower than HEAD, [\d.]+ times .* in 12 pairs of processes")
        self.assertRegex(said, r"test_it.py::test_new .* not timed by both, this and HEAD")
        listed = subprocess.run(["git", "worktree", "list"], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(len(listed.stdout.splitlines()), 1)

    def test_a_folder_is_another_code_too(self):
        with tempfile.TemporaryDirectory() as other:
            for name in ("work.py", "test_it.py"):
                shutil.copy(self.folder / name, other)
            (self.folder / "work.py").write_text("def work():\n    return sum(range(20_000))\n", encoding="utf-8")
            code, said = self.pytest("--gpu-benchmark-against", other)
            self.assertEqual(code, 4, said)
            self.assertIn(f"write --gpu-benchmark-against={other}", said)
            code, said = self.pytest(*FEW, f"--gpu-benchmark-against={other}")
            self.assertEqual(code, 0, said)
            self.assertRegex(said, r"test_it.py::test_work .* times \(.* slower")

    def test_a_module_that_both_would_load_from_here_is_named(self):
        library = self.folder / "library"
        library.mkdir()
        (self.folder / "work.py").rename(library / "work.py")
        (self.folder / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(library)!r})\n", encoding="utf-8")
        self.commit()
        code, said = self.pytest(*FEW, "--gpu-benchmark-against", "HEAD")
        self.assertEqual(code, 1, said)
        self.assertIn(f"the other code would be timed with this one's work ({library / 'work.py'})", said)

    def test_a_revision_that_is_not_there_is_refused(self):
        code, said = self.pytest("--gpu-benchmark-against", "no-such-branch")
        self.assertEqual(code, 4, said)
        self.assertIn("ERROR: --gpu-benchmark-against no-such-branch: no such revision here (git fetch brings others), and no such folder", said)

    def test_a_process_that_ends_early_is_named(self):
        self.write("import os, sys\n\n\ndef test_work(gpu_benchmark):\n"
                   "    if 'jitterscope' in sys.orig_argv:\n        os._exit(77)\n    gpu_benchmark(lambda: 1, device='cpu')\n")
        code, said = self.pytest(*FEW, "--gpu-benchmark-against", "HEAD")
        self.assertEqual(code, 1, said)
        self.assertIn("gpu_benchmark: a process of this code ended with exit code 77", said)


if __name__ == "__main__":
    unittest.main()
