"""Callables that do what nobody measures on purpose: a time comes or a sentence, and the next measurement is as any other."""

import contextlib
import os
import sys
import threading
import time as clock
import types
import unittest
import unittest.mock

import jitterscope as js

QUICK = {"device": "cpu", "precision": 0.5, "time_limit": 0.2}


class FutureArray:
    """Is there `seconds` after it was asked for."""

    def __init__(self, seconds):
        self.ready = threading.Timer(seconds, lambda: None)
        self.ready.start()


@contextlib.contextmanager
def stand_in_for_jax():
    jax = types.ModuleType("jax")
    jax.Array = FutureArray
    jax.tree_util = types.SimpleNamespace(tree_leaves=lambda tree: list(tree.values()))
    jax.block_until_ready = lambda tree: [leaf.ready.join() for leaf in tree.values()]
    with unittest.mock.patch.dict(sys.modules, {"jax": jax}):
        yield FutureArray


class Unruly(unittest.TestCase):
    def tearDown(self):
        self.assertGreater(js.measure(lambda: sum(range(300)), **QUICK).median, 0)

    def test_one_that_takes_longer_than_all_the_time_there_is(self):
        calls = 0

        def slow():
            nonlocal calls
            calls += 1
            clock.sleep(0.3)

        time = js.measure(slow, **{**QUICK, "time_limit": 0.05})
        self.assertGreater(time.median, 0.3)
        self.assertGreater(time.first_call, 0.3)
        self.assertLessEqual(calls, 8)
        self.assertIn("no interval (1 round)", str(time))

    def test_one_that_does_nothing(self):
        time = js.measure(lambda: None, **QUICK)
        self.assertGreaterEqual(time.median, 0)
        self.assertGreaterEqual(len(time.rounds), 1)
        self.assertIn("<lambda>", str(time))

    def test_one_whose_inputs_grow_from_call_to_call(self):
        data = [0] * 100

        def grows():
            data.extend([1] * 10)
            return sum(data)

        time = js.measure(grows, **QUICK)
        self.assertGreater(time.median, 0)
        self.assertGreater(len(data), 200)

    def test_one_that_fails_once_its_inputs_have_another_shape(self):
        rows = [[1, 2], [3, 4]]

        def transposes():
            rows[:] = [list(row) + [0] for row in rows]
            if len(rows[0]) > 20:
                raise ValueError(f"{len(rows[0])} columns")

        with self.assertRaisesRegex(ValueError, "21 columns"):
            js.measure(transposes, **QUICK)

    def test_one_that_another_thread_calls_too(self):
        ended, threads_seen = threading.Event(), set()

        def shared():
            threads_seen.add(threading.get_ident())
            return sum(range(300))

        def call_on():
            while not ended.is_set():
                shared()
                clock.sleep(0.001)

        other = threading.Thread(target=call_on)
        other.start()
        try:
            time = js.measure(shared, **QUICK)
        finally:
            ended.set()
            other.join()
        self.assertGreater(time.median, 0)
        self.assertEqual(len(threads_seen), 2)

    def test_one_that_starts_a_thread_which_measures(self):
        sentences = []

        def starts():
            if not sentences:
                sentences.append("begun")
                waiting = threading.Thread(target=lambda: sentences.append(js.measure(lambda: None, **QUICK).name))
                waiting.start()
                self.addCleanup(waiting.join)

        js.measure(starts, **QUICK)
        self.assertEqual(sentences[0], "begun")  # the other one waits for its turn, and is not waited for

    def test_one_that_forks(self):
        children = []

        def forks():
            if len(children) < 3:
                child = os.fork()
                if child == 0:
                    os._exit(0)
                children.append(child)

        self.assertGreaterEqual(js.measure(forks, **QUICK).median, 0)  # nearly nothing, after three calls
        self.assertEqual([os.waitpid(child, 0)[1] for child in children], [0, 0, 0])

    def test_one_whose_arrays_are_computed_behind_it(self):
        with stand_in_for_jax() as array:
            time = js.measure(lambda: {"out": array(0.02)}, name="step", **QUICK)
        self.assertGreater(time.median, 0.02)
        self.assertEqual(time.notes, ["step returns arrays of JAX, which are waited for: its time holds the host's work."])

    def test_one_whose_name_is_markup(self):
        time = js.measure(lambda: None, name="<script>alert(1)</script>", **QUICK)
        self.assertNotIn("<script", time._repr_html_())
        self.assertIn("&lt;script&gt;", time._repr_html_())
        self.assertEqual(time.name, "<script>alert(1)</script>")


if __name__ == "__main__":
    unittest.main()
