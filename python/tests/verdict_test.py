"""Verdicts on times of fresh processes that are drawn here, so that what is true is known."""

import math
import random
import types
import unittest
from unittest import mock

from jitterscope import _fresh_times
from jitterscope._text import change_with_interval, with_values
from jitterscope._verdict import FEWEST, MOST_LOOKS, Found, Looks, verdict, verdict_of_pairs, verdict_of_processes

PROCESSES, MARGIN = 16, 0.02


class Machine:
    """Whose processes differ by `deviation`, and of which one of eight is held up by other work."""

    def __init__(self, seed, deviation=0.013, state=0.0):
        self.random = random.Random(seed)
        self.deviation = deviation
        self.state = state  # by how much everything takes longer now

    def found(self, change=0.0, count=PROCESSES):
        return [self._one(change) for _ in range(count)]

    def _one(self, change):
        held_up = self.random.uniform(0.05, 0.3) if self.random.random() < 1 / 8 else 0.0
        worked = 1e-4 * (1 + change) * (1 + self.state) * math.exp(self.random.gauss(0, self.deviation) + held_up)
        waited = self.random.choice([1.0, 1.5, 2.4])  # for a core, which is no part of the work
        return Found(worked * waited, worked, 1e-3 * (1 + self.state) * math.exp(self.random.gauss(0, 0.005)))


def session(machine, change, before=None):
    looks = Looks.at_processes(machine.found() if before is None else before, MARGIN)
    looks.look(machine.found(change))
    while looks.wants_more:
        looks.look(machine.found(change))
    return looks


def words(change, **machine):
    own = Machine(seed=20, **machine)
    return [session(own, change).verdict.word for _ in range(300)]


class Tables(unittest.TestCase):
    def test_digits_follow_the_interval_as_on_the_command_line(self):
        self.assertEqual(change_with_interval(1.99547, 1.99521, 1.99573), "+99.55 % (+99.52 to +99.57 %)")
        self.assertEqual(change_with_interval(0.9779, 0.9763, 0.9795), "-2.21 % (-2.37 to -2.05 %)")
        self.assertEqual(change_with_interval(1.25, 1.05, 1.49), "+25 % (+5 to +49 %)")
        self.assertEqual(change_with_interval(1.523601, 1.523591, 1.523611), "+52.36 % (± 0.01 %)")
        self.assertEqual(change_with_interval(12.3, 12.1, 12.5), "12.3 times (12.1 times to 12.5 times)")

    def test_a_column_without_a_value_is_not_shown(self):
        rows = [["", "time", "clock", "interval"], ["a", "1 s", "", "–"], ["b", "2 s", "", "–"]]
        self.assertEqual(with_values(rows), [["", "time"], ["a", "1 s"], ["b", "2 s"]])


class Simulated(unittest.TestCase):
    def test_what_did_not_change_is_never_called_so(self):
        for deviation in (0.003, 0.013):
            said = words(0.0, deviation=deviation)
            self.assertEqual((said.count("slower"), said.count("faster")), (0, 0), deviation)
            self.assertGreater(said.count("same"), 150)

    def test_a_true_five_percent_is_seen_in_nineteen_of_twenty(self):
        for deviation in (0.003, 0.013):
            self.assertGreaterEqual(words(0.05, deviation=deviation).count("slower"), 285, deviation)
            self.assertGreaterEqual(words(-0.05, deviation=deviation).count("faster"), 285, deviation)

    def test_a_wilder_machine_leaves_it_undecided(self):
        said = words(0.0, deviation=0.04)
        self.assertLessEqual(said.count("slower") + said.count("faster"), 3)
        self.assertGreater(said.count("undecided"), 280)

    def test_the_interval_holds_the_truth(self):
        own = Machine(seed=3)
        held = 0
        for _ in range(400):
            found = verdict_of_processes(own.found(), own.found(0.05), MARGIN)
            held += found.low <= 1.05 <= found.high
        self.assertGreaterEqual(held, 0.93 * 400)


class OfPairs(unittest.TestCase):
    """Ratios of pairs that differ by 1.2 %, one of eight held up or hurried by up to 10 %."""

    def pairs(self, draw, change, count=PROCESSES):
        return [math.log1p(change) + draw.gauss(0, 0.012) + (draw.uniform(-0.1, 0.1) if draw.random() < 1 / 8 else 0.0)
                for _ in range(count)]

    def words(self, change):
        draw, said = random.Random(4), []
        for _ in range(300):
            looks = Looks.at_pairs(MARGIN)
            while looks.wants_more or not looks.verdicts:
                looks.look(self.pairs(draw, change))
            said.append(looks.verdict.word)
        return said

    def test_what_did_not_change_is_never_called_so(self):
        said = self.words(0.0)
        self.assertEqual((said.count("slower"), said.count("faster")), (0, 0))

    def test_a_true_five_percent_is_seen_in_nineteen_of_twenty(self):
        self.assertGreaterEqual(self.words(0.05).count("slower"), 285)
        self.assertGreaterEqual(self.words(-0.05).count("faster"), 285)

    def test_processes_of_two_kinds(self):
        """As a regular expression's were on two cores of a virtual machine: a third of the pairs differs by 10 %."""
        draw = random.Random(7)

        def words(change):
            looks = Looks.at_pairs(MARGIN)
            while looks.wants_more or not looks.verdicts:
                looks.look([math.log1p(change) + (draw.gauss(0, 0.02) if draw.random() < 0.65 else draw.choice((-1, 1)) *
                                                  draw.gauss(0.1, 0.05)) for _ in range(PROCESSES)])
            return looks.verdict.word
        said = [words(0.0) for _ in range(300)]
        self.assertEqual((said.count("slower"), said.count("faster")), (0, 0))
        self.assertGreaterEqual([words(0.05) for _ in range(300)].count("slower"), 275)

    def test_the_interval_holds_the_truth(self):
        draw = random.Random(5)
        found = [verdict_of_pairs(self.pairs(draw, 0.05), MARGIN) for _ in range(400)]
        self.assertGreaterEqual(sum(each.low <= 1.05 <= each.high for each in found), 0.93 * 400)

    def test_what_a_second_look_does_not_show_by_itself_is_no_verdict(self):
        draw = random.Random(6)

        def pairs(change, count=PROCESSES):
            return [math.log1p(change) + draw.gauss(0, 0.005) for _ in range(count)]
        looks = Looks.at_pairs(MARGIN)
        looks.look(pairs(0.12, 4 * PROCESSES))
        looks.look(pairs(0.0))
        self.assertEqual([each.word for each in looks.verdicts], ["slower", "slower"])
        self.assertEqual(looks.verdict.word, "undecided")
        self.assertTrue(looks.wants_more)
        looks.look(pairs(0.12))
        self.assertEqual(looks.verdict.word, "slower")

    def test_too_few_pairs_say_nothing(self):
        looks = Looks.at_pairs(MARGIN)
        looks.look([0.1] * (FEWEST - 1))
        self.assertIsNone(looks.verdict)


class Decisions(unittest.TestCase):
    def test_a_machine_that_is_slower_itself_decides_nothing(self):
        before = Machine(seed=5).found()
        slower = session(Machine(seed=6, state=0.06), 0.0, before).verdict
        self.assertEqual(slower.word, "undecided")
        self.assertAlmostEqual(slower.machine, 1.06, delta=0.01)
        self.assertLess(slower.low, 1.0)
        self.assertGreater(slower.high, 1.04)
        # Nor is a change hidden by a machine that has become faster.
        self.assertEqual(session(Machine(seed=6, state=-0.06), 0.06, before).verdict.word, "undecided")
        # A change beyond what the machine may have done is one.
        self.assertEqual(session(Machine(seed=6, state=0.06), 0.12, before).verdict.word, "slower")

    def test_one_look_is_no_verdict(self):
        own = Machine(seed=8)
        looks = Looks.at_processes(own.found(), MARGIN)
        looks.look(own.found(0.08))
        self.assertEqual((looks.verdicts[0].word, looks.verdict.word), ("slower", "undecided"))
        self.assertTrue(looks.wants_more)
        looks.look(own.found(0.0, 3 * PROCESSES))  # which the first ones were no part of
        self.assertEqual(looks.verdict.word, "same")
        looks = Looks.at_processes(own.found(), MARGIN)
        for _ in range(2):
            looks.look(own.found(0.08))
        self.assertEqual(looks.verdict.word, "slower")
        self.assertFalse(looks.wants_more)

    def test_looks_have_an_end(self):
        own = Machine(seed=9, deviation=0.2)
        looks = Looks.at_processes(own.found(), MARGIN)
        while looks.wants_more or not looks.verdicts:
            looks.look(own.found(0.1))
        self.assertLessEqual(len(looks.verdicts), MOST_LOOKS)

    def test_too_few_processes_say_nothing(self):
        own = Machine(seed=10)
        looks = Looks.at_processes(own.found(), MARGIN)
        looks.look(own.found(count=FEWEST - 1))
        self.assertIsNone(looks.verdict)
        looks.look(own.found(count=1))
        self.assertIsNotNone(looks.verdict)

    def test_what_waits_on_one_side_is_compared_by_all_of_its_time(self):
        working = [Found(1.0 + i / 1000, 1.0 + i / 1000) for i in range(PROCESSES)]
        waiting = [Found(2.0 + i / 1000) for i in range(PROCESSES)]
        self.assertAlmostEqual(verdict_of_processes(working, waiting, MARGIN).ratio, 2.0, delta=0.01)

    def test_a_process_that_cannot_tell_work_from_waiting_is_left_out(self):
        own = Machine(seed=11)
        found = [each._replace(worked_seconds=None) if number == 3 else each for number, each in enumerate(own.found())]
        ratio = verdict_of_processes(own.found(), found, MARGIN).ratio
        self.assertAlmostEqual(ratio, 1.0, delta=0.02)  # of all times it would be anything between 0.4 and 2.4

    def test_equal_times_are_the_same(self):
        found = verdict([1.0] * PROCESSES, [1.0] * PROCESSES, MARGIN)
        self.assertEqual((found.word, found.ratio), ("same", 1.0))
        self.assertEqual(verdict([1.0] * PROCESSES, [1.5] * PROCESSES, MARGIN).word, "slower")


class Clock:
    """Time that passes where a function says so."""

    def __init__(self):
        self.wall = self.worked = 0.0
        self.waits = self.held_up = 0
        self.random = random.Random(4)

    def work(self, seconds, lost_to_others=0.0):
        self.worked += seconds
        self.wall += seconds + lost_to_others
        self.held_up += lost_to_others > 0

    def sleep(self, seconds):
        self.wall += seconds
        self.waits += 1

    def usage(self, _):
        return types.SimpleNamespace(ru_nvcsw=self.waits, ru_nivcsw=self.held_up)

    def time(self):
        self.wall += 1e-7  # reading it takes some, so that loops end
        return self.wall

    def found(self, function):
        with mock.patch.multiple(_fresh_times.time, perf_counter=self.time, monotonic=self.time, sleep=self.sleep,
                                 thread_time=lambda: self.worked), \
                mock.patch.object(_fresh_times.resource, "getrusage", self.usage), \
                mock.patch.object(_fresh_times, "_work_that_never_changes", lambda: self.work(3e-4)):
            return _fresh_times.found_on_cpu(function)


class OneProcess(unittest.TestCase):
    def test_what_others_took_is_left_out(self):
        clock = Clock()

        for share in (0.02, 1.0):  # of the calls
            found = clock.found(lambda: clock.work(2e-4, 4e-3 if clock.random.random() < share else 0.0))
            self.assertAlmostEqual(found.worked_seconds, 2e-4, delta=1e-9)
            self.assertGreaterEqual(found.seconds, 2e-4)
            self.assertAlmostEqual(found.machine_seconds, 3e-4, delta=1e-9)

    def test_what_waits_takes_all_of_its_time(self):
        clock = Clock()

        def waits():
            clock.work(1e-4)
            clock.sleep(9e-4)

        found = clock.found(waits)
        self.assertIsNone(found.worked_seconds)
        self.assertAlmostEqual(found.seconds, 1e-3, delta=1e-6)

    def test_one_call_may_be_longer_than_all_rows(self):
        clock, calls = Clock(), []

        def long():
            calls.append(1)
            clock.work(5.0)

        self.assertAlmostEqual(clock.found(long).worked_seconds, 5.0)
        self.assertEqual(len(calls), 4)


if __name__ == "__main__":
    unittest.main()
