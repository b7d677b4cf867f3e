"""js.measure on the CPU: times, conditions, and whatever a callable may do to it."""

import gc
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import threading
import time as clock
import unittest

import jitterscope as js
from jitterscope._options import options_json
from jitterscope._text import change_text
from jitterscope._words import page_in_python

# Six rounds of a clock that has to be woken for each take a second; a quiet machine needs a fifth of it.
QUICK = {"device": "cpu", "precision": 0.5, "time_limit": 2.0, "minimum_rounds": 6}


def work():
    sum(range(300))


def measure(function=work, **conditions):
    return js.measure(function, **{**QUICK, **conditions})


class Numbers(unittest.TestCase):
    def test_a_time_has_its_interval_and_its_rounds(self):
        time = measure()
        low, high = time.interval
        self.assertTrue(low <= time.median <= high, time)
        self.assertTrue(0 < time.median < 1e-3, time)
        self.assertGreaterEqual(len(time.rounds), 6)
        # One may lie below zero where another program held the instrument's constant up.
        self.assertGreater(sorted(time.launches)[len(time.launches) // 2], 0)
        self.assertAlmostEqual(time.precision, (high - low) / 2 / time.median)
        self.assertGreater(time.first_call, 0)
        self.assertIsNone(time.launch_cost)  # there is no launch apart from the work
        self.assertEqual((time.name, time.memory, time.kernels), ("work", None, []))
        self.assertEqual(time.device["id"], "cpu")

    def test_it_prints_as_the_command_line_does(self):
        time = measure(name="mine")
        self.assertIn("**mine**", str(time))
        self.assertIn("warm burst", str(time))
        self.assertNotIn("unknown", str(time))
        self.assertIn("<td>warm, burst</td>", time._repr_html_())
        self.assertIn("&lt;mine", measure(name="<mine>")._repr_html_())
        self.assertIn("mine", repr(time))
        self.assertGreater(len(time.text(details=True)), len(time.text()))

    def test_too_few_rounds_have_no_interval(self):
        time = measure(minimum_rounds=1, time_limit=0.001)
        self.assertLess(len(time.rounds), 6)
        self.assertNotIn("95 % interval", time._repr_html_())
        self.assertIn("95 % interval", measure()._repr_html_())
        self.assertNotIn("nan", time._repr_html_())

    def test_each_cache_state_has_its_time(self):
        time = measure(cache=["warm", "cold"], load=["burst", "sustained"], sustained_time_limit=0.2)
        self.assertEqual([(each.cache, each.load) for each in time.measurements],
                         [("warm", "burst"), ("cold", "burst"), ("warm", "sustained"), ("cold", "sustained")])
        self.assertEqual(time["cold"].cache, "cold")
        self.assertEqual(time["cold sustained"].load, "sustained")
        with self.assertRaises(KeyError):
            time["dirty"]

    def test_a_record_is_kept_and_shown(self):
        path = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"jitterscope-{os.getpid()}.json"
        try:
            time = measure(name="kept")
            time.save(path)
            shown = subprocess.run([os.environ["JITTERSCOPE_PROGRAM"], "show", path], capture_output=True, text=True,
                                   check=True)
            self.assertIn("**kept**", shown.stdout)
            validate = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validate-json"
            subprocess.run([sys.executable, validate, path], check=True)
        finally:
            path.unlink(missing_ok=True)

    def test_every_queue_mode_gives_a_time(self):
        for queue in ("saturated", "eager", "graph"):
            self.assertGreater(measure(queue=queue).median, 0, queue)

    def test_progress_is_told(self):
        told = []
        measure(progress=told.append)
        self.assertGreaterEqual(len(told), 6)
        self.assertEqual(told[-1]["operation"], "work")

    def test_devices_are_listed_and_described(self):
        self.assertEqual(js.devices()[0]["id"], "cpu")
        self.assertEqual(js.describe("cpu")["id"], "cpu")
        self.assertEqual(js.stream("cpu").__cuda_stream__(), (0, 0))


class Words(unittest.TestCase):
    # A flag stands with the command that has it.
    flags = re.compile(r"(?<!`)--[a-z]+|`--[a-z-]+`(?! of\s+the\s+command\s+line)")

    def test_no_text_speaks_of_flags(self):
        time = measure(kernels=True, counters=True, precision=1e-6, time_limit=0.3)
        network = js.run("resnet18:batch=2", device="virtual:hostile", cache=["warm", "cold"], time_limit=0.01)
        for result in (time, network, js.explain("add:count=1Mi", device="virtual:hostile", quick=True)):
            for text in (str(result), result.text(details=True), result.text(findings="all"), *map(str, result.findings)):
                text = re.sub(r"`?jitterscope [a-z-]+( [^\s,;]+)*", "", " ".join(text.split()))
                self.assertEqual(self.flags.findall(text), [], text)
        self.assertIn("More: text(details=True)", str(time))
        self.assertIn('Why: text(findings="all")', str(time))
        self.assertNotIn("#1", str(time))
        self.assertTrue(all(len(line) <= 80 for line in network.text(width=80).splitlines() if "text(" in line))

    def test_flags_become_arguments(self):
        for flags, arguments in [("a longer --time-limit.", "a longer time_limit."),
                                 ("by groups (--instrument graph), or", 'by groups (instrument="graph"), or'),
                                 ("both: --load burst,sustained.", 'both: load=["burst", "sustained"].'),
                                 ("(--processes 8).", "(processes=8)."), ("one clock: --reference-clock 1410.",
                                                                          "one clock: reference_clock (1410 MHz)."),
                                 ("hold it by --lock-clocks.", "hold it by `--lock-clocks` of the command line."),
                                 ("`jitterscope run X --json FILE` has it", "`jitterscope run X --json FILE` has it"),
                                 ("rate (COLUMNS=120 shows all).", "rate (text(width=120) shows all)."),
                                 ("rate (--html FILE or COLUMNS=120 shows all).", "rate (text(width=120) shows all)."),
                                 ("| a --b |", "| a --b |")]:
            self.assertEqual(page_in_python(flags, 80), arguments)

    def test_a_difference_is_said_as_the_command_line_says_it(self):
        for ratio, said in [(0.733, "-26.7 %"), (1.0052, "+0.52 %"), (14.4, "14.4 times"), (1 / 14.4, "1/14.4"), (5000, "5000 times"),
                            (1.99, "+99.0 %"), (0.51, "-49.0 %"), (float("nan"), "–")]:
            self.assertEqual(change_text(ratio), said)

    def test_what_was_asked_for_and_is_not_there_is_noted(self):
        time = measure(name="mine", kernels=True, counters=True)
        self.assertEqual(time.kernels, [])
        self.assertIn("No kernels of mine: a CPU has no kernels to trace.", time.notes)
        self.assertRegex("\n".join(time.notes), "No counters of mine: .* no hardware counters")
        self.assertEqual(measure().notes, [])


class Terminal(unittest.TestCase):
    def said(self, script):
        """What a script writes to its standard error, which is a terminal."""
        terminal, its_end = pty.openpty()
        with subprocess.Popen([sys.executable, "-c", "import time, jitterscope as js\n" + script], stderr=its_end) as process:
            os.close(its_end)
            said = b""
            while True:
                try:
                    read = os.read(terminal, 4096)
                except OSError:  # of a terminal whose other end is closed
                    break
                if not read:
                    break
                said += read
        os.close(terminal)
        self.assertEqual(process.returncode, 0, said)
        return said.decode()

    def test_what_takes_long_says_what_it_does(self):
        said = self.said("js.measure(lambda: time.sleep(0.5), name='slow', device='cpu', time_limit=1.5)")
        self.assertRegex(said, r"slow: called for \d+ s, no round is done yet")
        self.assertRegex(said, r"slow: warm burst, \d rounds?, [.\d]+ ms.* s left at most")
        self.assertTrue(said.endswith("\r\x1b[K"), repr(said))

    def test_what_is_quick_says_nothing(self):
        self.assertEqual(self.said("js.measure(lambda: 1, device='cpu', minimum_rounds=1, time_limit=0.01)"), "")


class WhatIsAsked(unittest.TestCase):
    def test_words_and_numbers_that_are_none_are_sentences(self):
        for conditions, words in [({"cache": "wram"}, "did you mean 'warm'"), ({"cache": []}, "at least one"),
                                  ({"load": "brust"}, "burst"), ({"queue": "gated"}, "one of"), ({"precision": 0}, "from"),
                                  ({"precision": "1%"}, "a number"), ({"time_limit": True}, "a number"),
                                  ({"device": "gpo"}, "gpo"), ({"device": 3}, "a name"), ({"device": "virtual"}, "simulated"),
                                  ({"cache": "produced"}, "produced"), ({"cache": None}, "cache: at least one of"),
                                  ({"load": 3}, "load: at least one of"), ({"idle": 5}, "idle: the shortest and the longest"),
                                  ({"idle": (1,)}, "as (0.01, 0.07)"), ({"idle": ("a", "b")}, "idle: a number"),
                                  ({"name": 3}, "name: what tables call the function"),
                                  ({"progress": 3}, "progress: a function"), ({"kernels": "x"}, "kernels: True or False"),
                                  ({"counters": 3}, "counters: True, or names"), ({"counters": [3]}, "counters: True"),
                                  ({"counters": ""}, "counters: True"), ({"counters": []}, "counters: True")]:
            with self.assertRaises(js.UsageError, msg=conditions) as caught:
                measure(**conditions)
            self.assertIsInstance(caught.exception, ValueError)
            self.assertIn(words, str(caught.exception), conditions)
        with self.assertRaises(js.UsageError):
            measure(work())
        with self.assertRaises(TypeError):
            measure(cachee="warm")

    def test_a_text_of_counters_is_their_names(self):
        for given in ("dram, l2", ["dram", "l2"]):
            self.assertEqual(options_json(counters=given)["counters"], ["dram", "l2"])
        self.assertEqual(options_json(counters=True)["counters"], [])

    def test_a_gpu_that_is_not_there_is_missing(self):
        with self.assertRaises(js.MissingError) as caught:
            measure(device="cuda:99")
        self.assertTrue(str(caught.exception))


class Exceptions(unittest.TestCase):
    def fails_at(self, number, error, **conditions):
        count = 0

        def function():
            nonlocal count
            count += 1
            if count == number:
                raise error

        with self.assertRaises(type(error)) as caught:
            measure(function, **conditions)
        self.assertIs(caught.exception, error)
        self.assertEqual(count, number)
        self.assertGreater(measure().median, 0)  # nothing is left of it

    def test_they_arrive_as_they_are(self):
        for number in (1, 2, 10, 30):
            self.fails_at(number, ValueError("no such luck"))
        self.fails_at(1, SystemExit(3))
        self.fails_at(10, KeyboardInterrupt())

    def test_where_a_recording_was_asked_for_too(self):
        with self.assertRaises(ZeroDivisionError):
            measure(lambda: 1 / 0, queue="graph")

    def test_those_of_progress_too(self):
        def tell(_):
            raise OSError("closed")

        with self.assertRaises(OSError):
            measure(progress=tell)

    def test_their_traceback_leads_into_the_callable_and_holds_nothing(self):
        class Held:
            pass

        held = Held()
        import weakref
        alive = weakref.ref(held)

        def function(held=held):
            raise ValueError

        try:
            measure(function)
        except ValueError as error:
            names = []
            trace = error.__traceback__
            while trace is not None:
                names.append(trace.tb_frame.f_code.co_name)
                trace = trace.tb_next
            self.assertEqual(names[-1], "function")
        del held, function, trace
        gc.collect()
        self.assertIsNone(alive())

    def test_the_collector_is_on_again(self):
        self.assertTrue(gc.isenabled())
        with self.assertRaises(ValueError):
            measure(lambda: int("x"))
        self.assertTrue(gc.isenabled())


class Interruption(unittest.TestCase):
    def interrupted_after(self, seconds, function, **conditions):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = clock.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            measure(function, **{"precision": 1e-6, "time_limit": 60, **conditions})
        timer.join()
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        return clock.monotonic() - start

    def test_within_the_callable(self):
        self.assertLess(self.interrupted_after(0.3, lambda: clock.sleep(30)), 20)

    def test_between_its_calls(self):
        self.assertLess(self.interrupted_after(0.3, work), 20)

    def test_a_handler_of_the_program_stays(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
            self.assertGreater(measure(time_limit=0.4, precision=1e-6).median, 0)
            self.assertEqual(seen, [1])
        finally:
            signal.signal(signal.SIGINT, before)


class OtherThreadsAndProcesses(unittest.TestCase):
    def test_threads_measure_one_after_the_other(self):
        inside, most, lock = 0, 0, threading.Lock()

        def counted():
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1

        times = []
        threads = [threading.Thread(target=lambda: times.append(measure(counted))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(times), most), (3, 1))

    def test_a_callable_that_measures_is_refused(self):
        with self.assertRaises(js.UsageError) as caught:
            measure(lambda: measure(work))
        self.assertIn("cannot measure itself", str(caught.exception))

    def test_a_forked_process_measures_too(self):
        measure()
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if measure().median > 0 else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertGreater(measure().median, 0)

    def test_importing_loads_neither_torch_nor_the_library(self):
        script = ("import sys, jitterscope; heavy = {'torch', 'numpy', 'cupy', 'triton', 'numba', 'pytest'} & set(sys.modules); "
                  "assert not heavy, heavy; "
                  "assert 'libjitterscope' not in open('/proc/self/maps').read()")
        subprocess.run([sys.executable, "-c", script], check=True)

    def test_nothing_grows(self):
        def held():
            pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), threading.active_count()

        def several(count):
            for _ in range(count):
                js.measure(work, device="cpu", precision=0.9, minimum_rounds=1, time_limit=0.001, launches_per_round=1)
            gc.collect()

        several(5)
        bytes_before, files_before, threads_before = held()
        several(60)
        bytes_after, files_after, threads_after = held()
        self.assertEqual((files_after, threads_after), (files_before, threads_before))
        self.assertLess(bytes_after - bytes_before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
