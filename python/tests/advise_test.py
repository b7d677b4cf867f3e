"""js.advise: the steps with work of the test's own, whose times are known, and the command line's."""

import math
import unittest
from unittest import mock

import jitterscope as js
from jitterscope import _advise
from jitterscope._device import open_device
from jitterscope._measure import measure_record

QUICK = {"goal": "latency", "margin": 0.4, "tolerance": 0.01, "allow": None, "time_limit": 0.4}


class Work:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self):
        pass


def record_of_work(functions, device, options, **headings):
    """A record as it is measured, with the times that the work is said to take: other programs change none."""
    record = measure_record(functions, device, options, **headings)
    for result, (_, work) in zip(record["results"], functions):
        for measurement in result["measurements"]:
            for number, each in enumerate(measurement["rounds"]):
                scatter = 1 + 0.001 * (number % 5 - 2)
                each["launch_seconds"] = [work.seconds * scatter] * len(each["launch_seconds"])
            for estimate in ("time", "repeatability"):
                measurement[estimate].update(median_seconds=work.seconds, low_seconds=work.seconds * 0.999,
                                             high_seconds=work.seconds * 1.001)
    return record


class Sleeper:
    """Work of 1 ms, of which each remedy takes a large part away."""

    gains = {"a": 0.1, "b": 0.3, "last": 0.3, "none": 1.0, "inexact": 0.05, "wrong": 0.05, "drift": 0.1}
    results = {"drift": [1.0, 2.5], "inexact": [1.0, 1.5], "wrong": [1.0]}

    def __init__(self, *names):
        self.names = names
        self.built = []

    def remedies(self, goal):
        return ([_advise.Remedy(each, each, [f"do {each}"], comes_last=each == "last") for each in self.names],
                [{"study": "engine", "reason": "there is none"}])

    def build(self, taken):
        names = [each.study for each in taken]
        if "broken" in names:
            raise RuntimeError("it does not compile\nbecause")
        self.built.append(names)
        seconds = 1e-3 * math.prod(self.gains[each] for each in names)
        results = next((self.results[each] for each in names if each in self.results), [1.0, 2.0])
        return _advise.Built(Work(seconds), results, 100.0)


def advised(*names, **changes):
    with mock.patch.object(_advise, "measure_record", record_of_work):
        return _advise.advise_work(Sleeper(*names), open_device("cpu"), title="sleep", **{**QUICK, **changes})


def taken(found):
    return [each["study"] for each in found.record["recommendations"]]


class Steps(unittest.TestCase):
    def test_the_best_is_taken_and_the_rest_tried_on_top_of_it(self):
        found = advised("b", "a", "none")
        self.assertEqual(taken(found), ["a", "b"])
        self.assertEqual(len(found.record["steps"]), 3)
        outcomes = [each["outcome"] for each in found.record["steps"][0]["remedies"]]
        self.assertEqual(outcomes[:2], ["taken", "beaten"])
        ratio = found.record["together"]["comparisons"][0]["time_ratio"]["ratio"]
        self.assertAlmostEqual(ratio, 0.03, places=4)
        self.assertIn("With a, b it is ", str(found))
        self.assertIn("do a", str(found))

    def test_errors_are_against_the_work_as_it_was(self):
        found = advised("drift", "b", tolerance=0.5)
        errors = {each["study"]: each["relative_error"] for each in found.record["steps"][1]["remedies"]}
        self.assertGreater(errors["b"], 0.1)  # what the step before left is off already

    def test_launching_is_written_last(self):
        self.assertEqual(taken(advised("last", "b")), ["b", "last"])

    def test_what_is_inexact_or_wrong_is_not_taken(self):
        found = advised("inexact", "wrong", "b")
        self.assertEqual(taken(found), ["b"])
        outcomes = {each["study"]: each["outcome"] for each in found.record["steps"][0]["remedies"]}
        self.assertEqual(outcomes, {"inexact": "too_inexact", "wrong": "wrong", "b": "taken"})

    def test_where_nothing_helps_it_is_left_as_it_is(self):
        found = advised("none")
        self.assertEqual(taken(found), [])
        self.assertIn("leave it as it is", str(found))
        self.assertNotIn("together", found.record)

    def test_what_cannot_be_made_is_named(self):
        found = advised("broken", "a")
        self.assertEqual(taken(found), ["a"])
        self.assertIn("broken broken cannot be made: RuntimeError: it does not compile", found.notes)

    def test_only_what_is_allowed_is_tried(self):
        found = advised("a", "b", allow=["b"])
        self.assertEqual(taken(found), ["b"])
        self.assertIn({"study": "a", "reason": "not allowed"}, found.record["untried"])
        with self.assertRaisesRegex(js.UsageError, "no study 'magic'"):
            advised("a", allow=["magic"])

    def test_its_plots_are_the_path_and_what_each_gave(self):
        self.assertEqual([plot.id for plot in advised("a").plots], ["path", "remedies"])


class Errors(unittest.TestCase):
    def test_of_results(self):
        self.assertAlmostEqual(_advise.relative_error([3.0, 4.1], [3.0, 4.0]), 0.02)
        self.assertTrue(math.isnan(_advise.relative_error([1.0], [1.0, 2.0])))
        self.assertIsNone(_advise.relative_error([], []))


class Subjects(unittest.TestCase):
    def test_text_goes_to_the_command_line(self):
        found = js.advise("linear:n=256,in=1024,out=1024", device="virtual:h200", allow=["precision"], time_limit=0.2,
                          min_rounds=6, budget=60)
        self.assertEqual([each["arm"] for each in found.record["recommendations"]], ["f16"])

    def test_other_things_are_refused(self):
        with self.assertRaisesRegex(js.UsageError, "torch.nn.Module"):
            js.advise(lambda: None)
        with self.assertRaisesRegex(js.UsageError, "goal"):
            js.advise(print, goal="speed")
        with self.assertRaisesRegex(js.UsageError, "'budget'"):
            js.advise(print, budget=3)


if __name__ == "__main__":
    unittest.main()
