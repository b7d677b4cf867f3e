"""Callables that do what nobody measures on purpose: a time comes or a sentence, and the next measurement is as any other."""

import asyncio
import concurrent.futures
import contextlib
import functools
import gc
import itertools
import multiprocessing.pool
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time as clock
import types
import unittest
import unittest.mock
import warnings

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
    jax.tree_util = types.SimpleNamespace(tree_leaves=lambda tree: list(tree.values()) if tree else [])
    jax.block_until_ready = lambda tree: [leaf.ready.join() for leaf in jax.tree_util.tree_leaves(tree)]
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
        self.assertEqual(time.notes, ["step returns arrays of JAX, which are waited for, so the time includes the host's work."])

    def test_one_that_returns_nothing_at_first_and_such_arrays_later(self):
        calls = itertools.count()
        with stand_in_for_jax() as array:
            time = js.measure(lambda: {"out": array(0.02)} if next(calls) > 2 else None, **QUICK)
        self.assertGreater(time.median, 0.02)

    def test_one_whose_name_is_markup(self):
        time = js.measure(lambda: None, name="<script>alert(1)</script>", **QUICK)
        self.assertNotIn("<script", time._repr_html_())
        self.assertIn("&lt;script&gt;", time._repr_html_())
        self.assertEqual(time.name, "<script>alert(1)</script>")


async def coroutine(seconds=0.02):
    await asyncio.sleep(seconds)


async def asynchronous_generator():
    yield 1


def generator():
    yield 1


class Awaitable:
    def __await__(self):
        yield


class LazyFrame:
    """As a program has it that imported polars."""


class Collection:
    """One of dask's."""

    def __dask_graph__(self):
        return {"key": 1}


class Work:
    """Of torch.distributed: is done once it was waited for."""

    def __init__(self):
        self.is_waited_for = False

    def is_completed(self):
        return self.is_waited_for

    def wait(self):
        self.is_waited_for = True
        return self


class Unfinished(unittest.TestCase):
    """Callables whose work is not done when they return."""

    def setUp(self):
        self.loop = asyncio.new_event_loop()
        self.addCleanup(self.loop.close)
        self.threads = concurrent.futures.ThreadPoolExecutor(1)
        self.addCleanup(self.threads.shutdown)
        self.pool = multiprocessing.pool.ThreadPool(1)
        self.addCleanup(self.pool.terminate)
        self.going_on = threading.Event()
        self.addCleanup(self.going_on.set)

    def refused(self, function, what, remedy):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with self.assertRaises(js.UsageError) as caught:
                js.measure(function, name="it", **QUICK)
            gc.collect()
        said = str(caught.exception)
        self.assertTrue(said.startswith(f"it returns {what} whose work is not done when the call ends: "), said)
        self.assertIn(remedy, said)
        self.assertEqual([str(each.message) for each in warned if "await" in str(each.message)], [])

    def started(self):
        thread = threading.Thread(target=self.going_on.wait)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.going_on.set)
        return thread

    def program(self):
        process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process

    def test_what_is_to_be_awaited(self):
        await_it = "loop.run_until_complete"
        for function in (coroutine, functools.partial(coroutine, 1.0), lambda: [coroutine(), {"other": coroutine()}]):
            self.refused(function, "a coroutine", await_it)
        self.refused(asynchronous_generator, "an asynchronous generator", "`async for`")
        self.refused(lambda: self.loop.create_task(coroutine()), "an object (Task)", await_it)
        self.refused(self.loop.create_future, "an object (Future)", await_it)
        self.refused(Awaitable, "an awaitable (Awaitable)", await_it)

    def test_what_is_to_be_used_up(self):
        use_it = "`lambda: list(f())`"
        self.refused(generator, "a generator", use_it)
        self.refused(lambda: self.threads.map(str, [1]), "a generator", use_it)
        for lazy in (map(str, [1]), filter(None, [1]), zip([1]), enumerate([1]), itertools.islice([1], 1)):
            self.refused(lambda lazy=lazy: lazy, f"a lazy iterator ({type(lazy).__name__})", use_it)
        self.refused(lambda: self.pool.imap(str, [1]), "an object (IMapIterator)", use_it)

    def test_what_is_to_be_waited_for(self):
        submit = functools.partial(self.threads.submit, self.going_on.wait)
        self.refused(submit, "an object (Future)", "`lambda: f().result()`")
        self.refused(lambda: [submit()], "an object (Future)", "return nothing where the start alone")
        self.refused(lambda: self.pool.apply_async(self.going_on.wait), "an object (ApplyResult)", ".get()")
        self.refused(self.started, "an object (Thread)", ".join()")
        self.refused(self.program, "an object (Popen)", ".wait()")

    def test_what_others_compute_later(self):
        distributed = types.SimpleNamespace(Work=Work)
        with unittest.mock.patch.dict(sys.modules, {"polars": types.SimpleNamespace(LazyFrame=LazyFrame),
                                                    "torch._C._distributed_c10d": distributed}):
            self.refused(LazyFrame, "an object (LazyFrame)", ".collect()")
            self.refused(Work, "an object (Work)", ".wait()")
            self.assertGreater(js.measure(lambda: Work().wait(), **QUICK).median, 0)
        self.refused(Collection, "a lazy Collection of dask", ".compute()")

    def test_where_only_later_calls_return_it(self):
        calls = itertools.count()
        for nothing in (None, []):
            self.refused(lambda nothing=nothing: [generator()] if next(calls) % 100 > 10 else nothing, "a generator", "list")

    def test_what_is_done_is_timed(self):
        def used_up():
            numbers = generator()
            list(numbers)
            return numbers

        def waited_for():
            future = self.threads.submit(int)
            future.result()
            return future

        functions = [used_up, waited_for, lambda: self.loop.run_until_complete(coroutine(0)), lambda: {}, lambda: iter([1]),
                     lambda: self.threads.submit(int) and None]
        for function in functions:
            self.assertGreaterEqual(js.measure(function, **QUICK).median, 0)

    def test_benchmarks_and_files_too(self):
        with self.assertRaisesRegex(js.UsageError, r"^coroutine\(n=1\) returns a coroutine"):
            js.benchmark(n=[1])(functools.wraps(coroutine)(lambda n: coroutine)).measure(device="cpu")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "late.py"
            file.write_text("async def work():\n    pass\n", encoding="utf-8")
            with self.assertRaisesRegex(js.UsageError, "^work returns a coroutine"):
                js.run(f"python:{file}:work", device="cpu")
            with self.assertRaisesRegex(js.UsageError, "work returns a coroutine"):
                js.compare(f"{file}:work", f"{file}:work", device="cpu", processes=2)

    def test_a_benchmark_that_is_a_coroutine_itself(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(js.UsageError, "coroutine returned coroutine and nothing to call"):
                js.benchmark(coroutine).measure(device="cpu")


if __name__ == "__main__":
    unittest.main()
