"""What the command line does for Python, and Python for the command line."""

import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time as clock
import unittest

import jitterscope as js
from jitterscope._targets import cases

DATA = pathlib.Path(__file__).resolve().parent / "data"
PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
BENCH = f"python:{DATA / 'bench.py'}"
QUICK = ["--device", "cpu", "--cache", "warm", "--time-limit", "0.2", "--min-rounds", "6"]
sys.path.insert(0, str(DATA))


def command(*words, **environment):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "JITTERSCOPE_PYTHON": sys.executable, **environment})


class Subjects(unittest.TestCase):
    def run_record(self, *words, code=0):
        done = command("run", *words, *QUICK, "--json", "-")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def names(self, record):
        return [each["operation"] for each in record["results"]]

    def test_a_function_of_a_file(self):
        record = self.run_record(f"{BENCH}:short")
        self.assertEqual(self.names(record), ["short"])
        self.assertTrue(record["results"][0]["is_callable"])
        self.assertEqual(record["command"], "run")
        self.assertIn(f"{BENCH}:short", record["environment"]["command_line"])

    def test_a_benchmark_has_a_row_for_each_combination(self):
        done = command("run", f"{BENCH}:total", *QUICK)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"total\(n=100\)[^\n]*\n[^\n]*total\(n=200\)")
        self.assertNotIn("what a file prints", done.stdout)

    def test_each_result_says_which_case_it_is_of(self):
        record = self.run_record(f"{BENCH}:total")
        self.assertEqual([each["parameters"] for each in record["results"]],
                         [{"benchmark": "total", "n": n} for n in (100, 200)])

    def test_cases_are_chosen_by_their_values(self):
        self.assertEqual(self.names(self.run_record(f"{BENCH}:total[n=200]")), ["total(n=200)"])
        path = str(DATA / "bench.py")
        for chosen, names in [("n=1", ["two(n=1,word=a,b)", "two(n=1,word=c)"]), ("word=c", ["two(n=1,word=c)", "two(n=2,word=c)"]),
                              ("n=2,word=a,b", ["two(n=2,word=a,b)"]), ("word=c, n=1", ["two(n=1,word=c)"])]:
            self.assertEqual([case.name for case in cases(f"{path}:two[{chosen}]")], names, chosen)
        for target, sentence in [("total[m=1]", "has no parameter 'm'; it has n"), ("total[n=7]", "n is one of 100, 200"),
                                 ("short[n=1]", "is no benchmark"), ("total[]", "as 'python:FILE:FUNCTION[n=512]'")]:
            with self.assertRaises(js.UsageError) as caught:
                cases(f"{path}:{target}")
            self.assertIn(sentence, str(caught.exception))

    def test_where_one_case_is_wanted_one_is_named(self):
        for target in (f"{BENCH}:total", BENCH):
            done = command("explain", target, "--device", "cpu", "--quick")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"and one is taken at a time: name it, as '{BENCH}:total[n=100]'", done.stderr)

    def test_a_gate_measures_them_again(self):
        with tempfile.TemporaryDirectory() as folder:
            at = ["--history", folder]
            saved = command("run", f"{BENCH}:total", *QUICK, "--processes", "2", "--save", "main", *at)
            self.assertEqual(saved.returncode, 0, saved.stderr)
            gate = command("gate", "main", "--processes", "2", "--margin", "99%", *at)
            self.assertIn(gate.returncode, (0, 1), gate.stderr)  # a busy machine may take longer than twice as long
            self.assertIn("total(n=200)", command("gate", "main", "--dry-run", *at).stdout + gate.stdout)

    def test_several_processes_are_the_unit_of_the_interval(self):
        record = self.run_record(f"{BENCH}:short", "--processes", "3")
        self.assertEqual(len(record["results"][0]["measurements"][0]["processes"]), 3)

    def test_what_fails_fails_alone(self):
        record = self.run_record(f"{BENCH}:half_broken", code=5)
        self.assertEqual([bool(each["measurements"]) for each in record["results"]], [True, False])
        self.assertEqual(record["results"][1]["failure"], "ValueError: no such luck")
        self.assertEqual([each["parameters"] for each in record["results"]],
                         [{"benchmark": "half_broken", "n": n} for n in (1, 2)])

    def test_the_command_compares(self):
        done = command("compare", f"{BENCH}:short", f"{BENCH}:longer", "--processes", "3", *QUICK, "--fail-if", "slower")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("slower", done.stdout)

    def test_mistakes_are_sentences(self):
        for words, code, sentence in [
                ([f"{BENCH}:shrot"], 2, "has no function shrot; it has total"),
                ([f"{BENCH}:not_a_function"], 2, "has no function not_a_function"),
                ([f"python:{DATA}/absent.py"], 2, "this file does not exist"), (["python:no_such_module:f"], 2, "neither a file"),
                (["python:"], 2, "names no file: write python:bench.py"),
                ([f"{BENCH}:broken"], 5, "ValueError: no such luck"), ([f"{BENCH}:short", "add:count=1"], 2, "add:count=1"),
                ([f"{BENCH}:short", "--verify"], 2, "--verify"),
                ([f"{BENCH}:short", "--device", "virtual"], 2, "simulated")]:
            quick = [word for word in QUICK if word not in ("--device", "cpu")] if "--device" in words else QUICK
            done = command("run", *words, *quick)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(sentence, done.stderr, words)

    def test_a_python_without_the_module_is_named(self):
        done = command("run", f"{BENCH}:short", *QUICK, PYTHONPATH="", JITTERSCOPE_PYTHON="/usr/bin/python3")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has no module jitterscope", done.stderr)

    def test_an_interruption_ends_the_worker(self):
        process = subprocess.Popen([PROGRAM, "run", f"{BENCH}:short", "--device", "cpu", "--precision", "0.0001",
                                    "--time-limit", "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "JITTERSCOPE_PYTHON": sys.executable})
        clock.sleep(1.5)
        process.send_signal(signal.SIGINT)
        # A round may have ended by then: its result is printed.
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertNotIn("Traceback", errors)


class Worker(unittest.TestCase):
    def answer(self, text):
        done = subprocess.run([sys.executable, "-m", "jitterscope", "worker"], input=text, capture_output=True, text=True,
                              check=False)
        return done.returncode, json.loads(done.stdout)

    def test_a_plan_that_is_none_is_refused(self):
        for plan in ["", "[", "{}", '{"format": "jitterscope-plan", "version": 99}']:
            code, error = self.answer(plan)
            self.assertEqual((code, error["exit_code"], error["format"]), (2, "usage", "jitterscope-error"), plan)

    def test_the_record_is_all_that_stands_on_standard_output(self):
        plan = {"format": "jitterscope-plan", "version": 1, "device": "cpu",
                "groups": [[{"callable": str(DATA / "bench.py") + ":short",
                             "options": {"caches": ["warm"], "loads": ["burst"], "time_limit_seconds": 0.1}}]]}
        code, record = self.answer(json.dumps(plan))
        self.assertEqual((code, record["format"]), (0, "jitterscope-record"))

    def test_unlike_numbers_of_cases_are_refused(self):
        trials = [{"callable": f"{DATA / 'bench.py'}:{name}", "options": {}} for name in ("total", "short")]
        plan = {"format": "jitterscope-plan", "version": 1, "device": "cpu", "groups": [trials]}
        code, error = self.answer(json.dumps(plan))
        self.assertEqual(code, 2)
        self.assertIn("different numbers of cases", error["message"])


class FromPython(unittest.TestCase):
    conditions = {"device": "cpu", "cache": "warm", "time_limit": 0.2, "min_rounds": 6}

    def test_operations_and_sweeps_are_run(self):
        time = js.run("add:count=1Ki", device="virtual:quiet", cache=["warm", "cold"], kernels=True)
        self.assertEqual([each.cache for each in time.measurements], ["warm", "cold"])
        self.assertTrue(time.kernels)
        self.assertIsNotNone(time.clock)
        times = js.run("add:count=1Ki,2Ki", device="virtual:quiet", cache="warm")
        self.assertEqual(len(times), 2)
        self.assertLess(times[0].median, times[1].median * 1.5)
        self.assertEqual(times[times[1].name].median, times[1].median)

    def test_a_network_has_a_total_and_its_layers(self):
        network = js.run("resnet18:batch=2", device="virtual:quiet", cache=["warm", "cold"], load="burst")
        total = network.total
        self.assertEqual((total.cache, network.totals[1].cache), ("warm", "cold"))
        self.assertEqual((network.median, network.interval), (total.seconds, total.interval))
        self.assertTrue(total.interval[0] < total.seconds < total.interval[1], total)
        added = sum(time.median * time.record["results"][0]["count"] for time in network)
        self.assertAlmostEqual(total.seconds / added, 1.0, 4)
        shown = network._repr_html_()
        self.assertIn(f"<td>all</td><td>{total.calls}</td><td>100 %</td>", shown)
        self.assertIn("<th>layer</th><th>calls</th><th>share</th><th>warm, burst</th>", shown)
        self.assertRegex(shown, r"<td>layer1\.\d[\w.]* and 3 alike</td><td>4</td><td>[\d.]+ %</td>")
        self.assertRegex(shown, r"The 10 slowest of \d+ operations; the other \d+ take \d+ % of the total")
        self.assertRegex(repr(network), "^<Times of resnet18:batch=2: [0-9]+ operations, [^>]*s in all>$")
        where = network.where_to_work
        self.assertAlmostEqual(sum(kind["share"] for kind in where["kinds"]), 1.0, 4)
        self.assertEqual(network.notes[0], where["advice"] + ".")
        self.assertIn("convolutions", [kind["name"] for kind in where["kinds"]])

    def test_one_operation_that_is_called_several_times_has_the_time_of_all_calls(self):
        calls = js.run("gpt2:direction=fprop,dtype=bf16", only="mlp.c_fc", device="virtual:quiet", cache="warm")
        self.assertIsInstance(calls, js.Times)
        self.assertEqual((len(calls), calls.total.calls), (1, 12))
        one = calls[0]
        self.assertAlmostEqual(calls.median / one.median, 12.0, 3)  # six digits are written
        self.assertEqual(calls.interval, calls.total.interval)
        for end, expected in zip(one.total.interval, calls.total.interval):
            self.assertAlmostEqual(end / expected, 1.0, 4)
        self.assertRegex(repr(calls), r"^<Times of gpt2[^:]*:[^:]*: 12 calls, [^>]*s in all>$")
        self.assertIn("for all 12 calls", str(calls))

    def test_a_layer_of_a_network_is_itself_and_not_the_network(self):
        network = js.run("resnet18:batch=2,direction=fprop", only="layer1|fc", device="virtual:quiet", cache="warm",
                         in_sequence=True)
        self.assertGreater(len(network), 2)
        self.assertAlmostEqual(sum(layer.total.seconds for layer in network) / network.total.seconds, 1.0, 4)
        self.assertIn(network[0].record["results"][0]["layers"][0], network[0].text())
        self.assertNotIn("resnet18", network[0].text())

    def test_of_a_file_of_which_most_is_not_timed_there_is_no_median(self):
        network = js.run("resnet18:batch=2,direction=fprop", only="layer1", device="virtual:quiet", cache="warm")
        record = {**network.record, "untimed": [{"name": "aten::cumsum", "count": 100, "reason": "only PyTorch has it"}]}
        partly = js.Times(record)
        with self.assertRaises(js.UsageError) as caught:
            partly.median
        self.assertIn(f"{network.total.calls} of the {network.total.calls + 100} calls of the record are timed", str(caught.exception))
        self.assertEqual(partly.total, network.total)
        self.assertTrue(any("the total is theirs" in note for note in partly.notes), partly.notes)
        record["recorded_gpu_seconds"] = 1.0
        record["untimed"][0]["recorded_seconds"] = 0.4
        self.assertEqual(js.Times(record).median, network.median)

    def test_of_an_interrupted_run_there_is_a_median_only_where_all_had_their_turn(self):
        network = js.run("resnet18:batch=2,direction=fprop", only="layer1", device="virtual:quiet", cache="warm")
        operator = {"name": "conv2d", "count": 1, "reason": "interrupted", "is_unreached": True}
        for unreached, interrupted, refused in [(True, True, True), (True, False, True), (False, True, False),
                                                (None, True, True), (None, False, False)]:
            untimed = {**operator, "is_unreached": unreached}
            if unreached is None:
                del untimed["is_unreached"]
            times = js.Times({**network.record, "interrupted": interrupted, "untimed": [untimed]})
            if refused:
                self.assertRaises(js.UsageError, lambda: times.median)
            else:
                self.assertEqual(times.median, network.median)

    def test_of_what_cannot_be_timed_the_reason_is_raised(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cumsum.json"
            arguments = {"External id": 1, "Concrete Inputs": ["", "1", ""], "Input type": ["float", "Scalar", ""],
                         "Input Strides": [[1024, 1], [], []], "Input Dims": [[8, 1024], [], []]}
            event = {"ph": "X", "pid": 1, "tid": 1, "ts": 1000, "dur": 30}
            file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
                {**event, "cat": "cpu_op", "name": "aten::cumsum", "args": arguments}]}), encoding="utf-8")
            with self.assertRaises(js.UsageError) as caught:
                js.run(str(file), device="virtual:quiet")
        self.assertIn("aten::cumsum ×1 (only PyTorch has this operator", str(caught.exception))

    def test_the_ratio_of_networks_is_of_all_calls(self):
        quick = {"device": "virtual:quiet", "processes": 2, "time_limit": 0.05, "min_rounds": 6}
        networks = js.compare("resnet18:batch=2,direction=fprop", "resnet18:batch=2,direction=fprop,dtype=f16",
                              only="layer1|fc", **quick)
        total = networks.record["totals"][0]
        self.assertEqual(networks.ratio, total["time_ratio"]["ratio"])
        self.assertEqual(networks.verdict, total["verdict"])
        unlike = js.compare("resnet18:batch=2,direction=fprop", "resnet50:batch=2,direction=fprop", only="layer1|fc", **quick)
        with self.assertRaises(js.UsageError) as caught:
            unlike.ratio
        self.assertIn("have no counterpart", str(caught.exception))
        self.assertRegex(repr(unlike), "^<Comparison of [^,]*,[^>]*>$")
        several = js.Comparison({**networks.record, "totals": []})
        with self.assertRaises(js.UsageError) as caught:
            several.verdict
        self.assertIn("do not add up", str(caught.exception))
        for empty in ([], [{"alternative": 1, "failure": "out of memory"}]):
            with self.assertRaises(js.UsageError):
                js.Comparison({**networks.record, "totals": [], "comparisons": empty}).ratio

    def test_the_verdict_of_a_gate_is_that_of_all(self):
        compared = [{"alternative": 1, "verdict": verdict} for verdict in ("same", "slower", "faster")]
        gate = {"baseline": {"name": "main"}, "alternatives": ["before", "now"], "comparisons": compared}
        self.assertEqual(js.Comparison(gate).verdict, "slower")
        self.assertEqual(js.Comparison({**gate, "comparisons": compared[:1]}).verdict, "same")
        self.assertEqual(js.Comparison({**gate, "totals": [{"verdict": "undecided"}]}).verdict, "undecided")
        lost = [compared[0], {"alternative": 1, "failure": "it was not measured now"}]
        with self.assertRaises(js.UsageError):
            js.Comparison({**gate, "comparisons": lost}).verdict

    def test_several_times_have_no_median_and_one_has_a_total(self):
        times = js.run("add:count=1Ki,2Ki", device="virtual:quiet", cache="warm")
        with self.assertRaises(js.UsageError) as caught:
            times.median
        self.assertIn("times[0].median", str(caught.exception))
        time = js.run("add:count=1Ki", device="virtual:quiet", cache="warm")
        self.assertEqual((time.total.seconds, time.total.calls), (time.median, 1))

    def test_what_the_command_refuses_is_raised(self):
        with self.assertRaises(js.UsageError) as caught:
            js.run("ad:count=1")
        self.assertIn("ad", str(caught.exception))
        with self.assertRaises(js.UsageError):
            js.run("add:count=1", json="x")
        for call, words in [(lambda: js.run(3), "run takes text or paths, .* not int; a function is timed by js.measure"),
                            (lambda: js.gate(None), "gate takes text or paths, .* not NoneType"),
                            (lambda: js.benchmark(3), "benchmark marks a function, .* not 3")]:
            with self.assertRaisesRegex(js.UsageError, words):
                call()
        with self.assertRaises(js.MissingError):
            js.run("add:count=1", device="cuda:99")

    def test_causes_are_explained(self):
        explained = js.explain("add:count=1Mi", device="virtual:h200", quick=True)
        self.assertIn("add", str(explained))
        self.assertIn("study", explained.record)
        self.assertIn("<Record of explain", repr(explained))

    def test_functions_are_compared_however_they_are_named(self):
        import bench
        for first, second in [(bench.short, bench.longer), ("bench:short", "bench:longer"),
                              (functools.partial(sum, range(100)), functools.partial(sum, range(2000)))]:
            before = os.environ.get("PYTHONPATH", "")
            os.environ["PYTHONPATH"] = f"{before}:{DATA}"
            try:
                comparison = js.compare(first, second, processes=3, **self.conditions)
            finally:
                os.environ["PYTHONPATH"] = before
            self.assertGreater(comparison.ratio, 1.5)
            self.assertEqual(comparison.verdict, "slower")
            self.assertLess(comparison.interval[0], comparison.ratio)
            self.assertIn("slower", str(comparison))
            self.assertNotIn("/tmp/", str(comparison))
            self.assertRegex(repr(comparison), r"^<Comparison of .*: slower, \S+ (%|times) \(.* (%|times)\)>$")
            self.assertRegex(comparison.record["environment"]["command_line"], "^js.compare of [^/]*, [^/]*$")

    def test_operations_and_records_are_compared_as_on_the_command_line(self):
        quick = {"device": "virtual:quiet", "time_limit": 0.2, "cache": "warm"}
        found = js.compare("matmul:m=512,n=512,k=512", vary={"dtype": ["f32", "f16"]}, processes=2, **quick)
        self.assertEqual(found.verdict, "faster")
        self.assertEqual(len(js.compare("relu:count=4Mi", "gelu:count=4Mi", processes=2, **quick).record["alternatives"]), 2)
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("a.json", "b.json")]
            for file in files:
                js.run("relu:count=4Mi", **quick).save(file)
            self.assertEqual(js.compare(*files).verdict, "same")
        with self.assertRaises(js.UsageError):
            js.compare("relu:count=4Mi", f"{BENCH}:short")

    def test_studies_are_those_of_the_command_line(self):
        found = js.study("layout", "conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1,dtype=f16", device="virtual:h200", processes=2)
        self.assertEqual(found.record["study"]["id"], "layout")
        self.assertIn(found.record["study"]["answers"][0].replace("**", "")[:20], str(found).replace("**", "").replace("\n", " "))
        for name, sentence in [("layuot", "layout"), ("loss-scaling", "js.loss_scaling")]:
            with self.assertRaises(js.UsageError) as caught:
                js.study(name, device="virtual:h200")
            self.assertIn(sentence, str(caught.exception))

    def test_a_gate_gives_its_verdict(self):
        with tempfile.TemporaryDirectory() as folder:
            js.run("relu:count=4Mi", device="virtual:quiet", save="main", history=folder)
            self.assertEqual(js.gate("main", history=folder).verdict, "same")
            with self.assertRaises(js.UsageError):
                js.gate("mian", history=folder)

    def test_a_file_that_compares_as_it_is_loaded_starts_no_workers_without_end(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "endless.py"
            script.write_text("import jitterscope as js\ndef f(): pass\njs.compare(f, f, processes=2, device='cpu')\n")
            done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("if __name__ == '__main__'", done.stderr)

    def test_a_file_may_be_named_as_a_module_that_is_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("json.py", "my-bench.v2.py"):
                file = pathlib.Path(folder) / name
                file.write_text("def f(): pass\n")
                done = command("run", f"python:{file}:f", *QUICK)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_no_other_process_can_have_is_a_sentence(self):
        with self.assertRaises(js.UsageError) as caught:
            js.compare(lambda: 1, lambda: 2, processes=2)
        self.assertIn("cannot be handed to another process", str(caught.exception))
        with self.assertRaises(js.UsageError):
            js.compare("bench:short")


class Benchmarks(unittest.TestCase):
    conditions = {"device": "cpu", "precision": 0.5, "time_limit": 0.2}

    def test_all_combinations_are_measured(self):
        @js.benchmark(n=[1, 2], word=("a", "b"))
        def both(n, word):
            return lambda: word * n

        times = both.measure(**self.conditions)
        self.assertEqual([time.name for time in times],
                         ["both(n=1,word=a)", "both(n=1,word=b)", "both(n=2,word=a)", "both(n=2,word=b)"])
        self.assertIn("both(n=2,word=b)", times._repr_html_())
        self.assertIn("both(n=2,word=b)", str(times))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "times.json"
            times.save(path)
            validate = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "validate-json"
            subprocess.run([sys.executable, validate, path], check=True)
        self.assertEqual(times["both(n=1,word=b)"].name, "both(n=1,word=b)")
        self.assertEqual(both(3, "x")(), "xxx")
        self.assertEqual(both.__name__, "both")

    def test_setting_up_is_not_timed(self):
        @js.benchmark
        def sleeper():
            clock.sleep(0.05)
            return lambda: None

        self.assertLess(sleeper.measure(**self.conditions)[0].median, 0.01)

    def test_mistakes_are_sentences(self):
        with self.assertRaises(js.UsageError) as caught:
            js.benchmark(n=3)
        self.assertIn("n=[3]", str(caught.exception))
        with self.assertRaises(js.UsageError) as caught:
            js.benchmark(lambda: 3).measure(**self.conditions)
        self.assertIn("returns what is to be timed", str(caught.exception))
        with self.assertRaises(js.UsageError):
            js.benchmark(n=[])(lambda n: print).measure(**self.conditions)


if __name__ == "__main__":
    unittest.main()
