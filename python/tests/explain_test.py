"""js.explain of functions on the CPU, and `jitterscope explain python:FILE:FUNCTION`."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time as clock
import unittest

import jitterscope as js

PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
SHORT = {"device": "cpu", "factors": "launches,instrument", "max_time": 2}


def work():
    sum(range(1000))


def verdicts(record):
    return {each["id"]: each["verdict"] for each in record["study"]["factors"]}


class Functions(unittest.TestCase):
    def test_the_causes_of_a_functions_time_are_found_out(self):
        explained = js.explain(lambda: work(), name="mine", **SHORT)
        self.assertEqual(explained.record["study"]["operation"], "mine")
        self.assertEqual(set(verdicts(explained.record)), {"launches", "instrument"})
        self.assertIn("Seen in", explained.text())
        self.assertEqual(explained.notes, [])

    def test_what_is_its_own_is_said_to_be(self):
        explained = js.explain(work, device="cpu", factors=["data", "allocator"], max_time=1)
        self.assertEqual(set(verdicts(explained.record).values()), {"not_identifiable"})
        self.assertIn("what a function reads is its own", str(explained))

    def test_fresh_processes_call_what_they_can_find(self):
        explained = js.explain(work, device="cpu", max_time=9)
        process = [each for each in explained.record["study"]["random_factors"] if each["id"] == "process"]
        self.assertEqual(len(process), 1, explained.notes)
        self.assertGreaterEqual(process[0]["levels"], 1)

    def test_of_a_lambda_processes_are_not_asked_and_it_says_so(self):
        explained = js.explain(lambda: None, device="cpu", max_time=2)
        self.assertIn("How much processes differ was not asked", explained.notes[0])

    def test_processes_that_take_too_long_to_begin_are_not_started_and_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "slow.py"
            path.write_text("import time\ntime.sleep(1.5)\ndef step():\n    return sum(range(1000))\n")
            done = subprocess.run([PROGRAM, "explain", f"python:{path}:step", "--device", "cpu", "--max-time", "6",
                                   "--json", "-"], capture_output=True, text=True, check=True)
        self.assertIn("3 fresh processes would take", " ".join(json.loads(done.stdout)["notes"]))

    def test_what_it_raises_arrives(self):
        calls = []

        def fails_at_the_tenth():
            calls.append(1)
            if len(calls) == 10:
                raise ValueError("the tenth")

        with self.assertRaisesRegex(ValueError, "the tenth"):
            js.explain(fails_at_the_tenth, **SHORT)
        js.explain(work, **SHORT)  # nothing is left of it

    def test_progress_says_how_far_it_is(self):
        told = []
        js.explain(work, progress=told.append, **SHORT)
        self.assertTrue(all(0 <= each["share"] <= 1 and each["stage"] for each in told), told)
        self.assertGreater(len(told), 2)

    def test_ctrl_c_ends_it(self):
        timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            js.explain(work, device="cpu", factors="launches", max_time=60)
        timer.join()

    def test_mistakes_are_sentences(self):
        @js.benchmark(n=[1, 2])
        def sweep(n):
            return work

        for arguments, options, words in [
                ((work, work), {}, "one function"), ((work,), {"only": "x"}, "only is not an option"),
                ((sweep,), {}, "not a benchmark"), ((3,), {}, "not int"), ((work,), {"max_time": 0.1}, "1 to 3600"),
                ((work,), {"max_time": "1m"}, "max_time: 1 to 3600 seconds, not '1m'"), ((work,), {"factors": 5}, "factors: names"),
                ((work,), {"factors": "cahce"}, "did you mean 'cache'"), ((work,), {"device": "virtual:h200"}, "simulated")]:
            with self.assertRaisesRegex(js.UsageError, words):
                js.explain(*arguments, **{"factors": "launches", **options})


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = pathlib.Path(self.folder.name) / "bench.py"
        self.file.write_text(textwrap.dedent("""
            import jitterscope as js
            print("loaded")
            def step(): sum(range(1000))
            def bad(): raise ValueError("no such luck")
            @js.benchmark(n=[10, 20])
            def sweep(n): return lambda: sum(range(n))
        """))

    def tearDown(self):
        self.folder.cleanup()

    def words(self, function, *more):
        return [PROGRAM, "explain", f"python:{self.file}:{function}", "--device", "cpu", *more]

    def test_a_function_of_a_file_is_explained(self):
        path = pathlib.Path(self.folder.name) / "why.json"
        ran = subprocess.run(self.words("step", "--factors", "launches", "--max-time", "2", "--json", str(path)),
                             capture_output=True, text=True, check=False,
                             env={**os.environ, "JITTERSCOPE_PYTHON": sys.executable})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("Seen in", ran.stdout)
        self.assertNotIn("loaded", ran.stdout)
        shown = subprocess.run([PROGRAM, "show", str(path)], capture_output=True, text=True, check=True)
        self.assertEqual(shown.stdout, ran.stdout)

    def test_mistakes_are_sentences(self):
        for words, code, sentence in [(self.words("bad", "--max-time", "2"), 5, "no such luck"),
                                      (self.words("sweep"), 2, "2 cases"), (self.words("step", "--only", "x"), 2, "--only"),
                                      ([*self.words("step")[:-1], "virtual:h200"], 2, "simulated")]:
            ran = subprocess.run(words, capture_output=True, text=True, check=False,
                                 env={**os.environ, "JITTERSCOPE_PYTHON": sys.executable})
            self.assertEqual(ran.returncode, code, ran.stderr)
            self.assertIn(sentence, ran.stderr)
            self.assertEqual(ran.stdout, "")

    def test_ctrl_c_gives_what_is_known(self):
        started = subprocess.Popen(self.words("step", "--factors", "launches", "--max-time", "60"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, "JITTERSCOPE_PYTHON": sys.executable})
        clock.sleep(4)
        started.send_signal(signal.SIGINT)
        output, errors = started.communicate(timeout=30)
        self.assertEqual(started.returncode, 130, errors)
        self.assertIn("step", output)


if __name__ == "__main__":
    unittest.main()
