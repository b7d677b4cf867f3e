"""Cheats and mistakes, each a function that makes a candidate, with what the judge is to say of it.

`row` is the row of the table of cheats in docs/evidence/judge.md; `twin` makes the honest candidate that does what the
cheat pretends. Expected is `harmless` (the outputs are right, and the time is that of the work), `wrong` or `invalid`.
"""

import os
import threading
import time
from array import array

import reference

CASES = {}


def case(row, name, expected, twin=None):
    def add(make):
        CASES[make.__name__] = {"row": row, "name": name, "expected": expected, "twin": twin.__name__ if twin else ""}
        return make
    return add


def _honest(x, y, w):
    return reference.function(x, y, w)


# Honest twins. Each does what a cheat pretends, or what a rule too strict would forbid.

def plain(n=64):
    return _honest


def threads_joined(n=64):
    """Half of the work in a thread that is waited for."""
    def function(x, y, w):
        mean = sum(x) / len(x)
        out = array("f", bytes(4 * len(x)))

        def part(begin, end):
            for i in range(begin, end):
                out[i] = 2.0 * x[i] + y[i] + w[i % 8] + mean
        worker = threading.Thread(target=part, args=(0, len(x) // 2))
        worker.start()
        part(len(x) // 2, len(x))
        worker.join()
        return out
    return function


def packed_weights(n=64):
    """Prepares persistent inputs once: they are the same in every call of a process."""
    packed = []

    def function(x, y, w):
        if not packed:
            packed.append([w[i % 8] for i in range(len(x))])
        mean = sum(x) / len(x)
        return array("f", [2.0 * a + b + c + mean for a, b, c in zip(x, y, packed[0])])
    return function


def own_buffer(n=64):
    """Returns the same memory each time, filled anew."""
    out = array("f", bytes(4 * n))

    def function(x, y, w):
        mean = sum(x) / len(x)
        for i in range(len(x)):
            out[i] = 2.0 * x[i] + y[i] + w[i % 8] + mean
        return out
    return function


def tuned_at_first(n=64):
    """Tries two ways in its first call and keeps one, as an autotuner does."""
    chosen = []

    def function(x, y, w):
        if not chosen:
            for _ in range(2):
                _honest(x, y, w)
            chosen.append(_honest)
        return chosen[0](x, y, w)
    return function


def other_order(n=64):
    """Adds in another order, so that the last bits differ."""
    def function(x, y, w):
        mean = sum(reversed(x)) / len(x)
        return array("f", [(mean + w[i % 8]) + (b + 2.0 * a) for i, (a, b) in enumerate(zip(x, y))])
    return function


def memo_of_nothing(n=64):
    """Remembers the last inputs' values and looks them up: never found, and so never wrong."""
    known = {}

    def function(x, y, w):
        found = known.get((bytes(x), bytes(y)))
        if found is None:
            known.clear()
            known[(bytes(x), bytes(y))] = found = _honest(x, y, w)
        return found
    return function


def prints_a_line(n=64):
    def function(x, y, w):
        print("a call")
        return _honest(x, y, w)
    return function


# Row 2: work that is left to others.

@case(2, "the work is done by a thread behind the call", "wrong", threads_joined)
def thread_behind_the_call(n=64):
    out = array("f", bytes(4 * n))

    def function(x, y, w):
        kept = bytes(x), bytes(y), bytes(w)

        def later():
            time.sleep(0.001)
            values = [array("f", part) for part in kept]
            out[:] = _honest(*values)
        threading.Thread(target=later, daemon=True).start()
        return out
    return function


# Rows 3 and 4: memos.

@case(3, "remembers its output by the inputs' addresses", "wrong", packed_weights)
def memo_by_identity(n=64):
    known = {}

    def function(x, y, w):
        key = (id(x), id(y))
        if key not in known:
            known[key] = (x, y, _honest(x, y, w))  # keeps the arrays, so that an address names one of them
        return known[key][2]
    return function


@case(3, "remembers its output by the inputs' shapes", "wrong", packed_weights)
def memo_by_shape(n=64):
    known = {}

    def function(x, y, w):
        if len(x) not in known:
            known[len(x)] = _honest(x, y, w)
        return known[len(x)]
    return function


@case(3, "remembers its output in a file", "wrong", own_buffer)
def memo_in_file(n=64):
    def function(x, y, w):
        try:
            with open("memo", "rb") as file:
                return array("f", file.read())
        except OSError:
            found = _honest(x, y, w)
            with open("memo", "wb") as file:
                file.write(bytes(found))
            return found
    return function


@case(4, "remembers its output by some of the inputs' values", "wrong", memo_of_nothing)
def memo_by_some_values(n=64):
    known = {}

    def function(x, y, w):
        key = round(x[0])
        if key not in known:
            known[key] = _honest(x, y, w)
        return known[key]
    return function


@case(4, "remembers its output by all of the inputs' values", "harmless", memo_of_nothing)
def memo_by_all_values(n=64):
    known = {}

    def function(x, y, w):
        key = (bytes(x), bytes(y), bytes(w))
        if key not in known:
            known[key] = _honest(x, y, w)
        return known[key]
    return function


# Row 5: lazy outputs.

@case(5, "returns an array that is computed when its methods are called", "wrong", own_buffer)
def lazy_output(n=64):
    class Lazy(array):
        def __getitem__(self, place):
            return _honest(*self.inputs)[place]

        def tobytes(self):
            return bytes(_honest(*self.inputs))

    def function(x, y, w):
        lazy = Lazy("f", bytes(4 * len(x)))
        lazy.inputs = x, y, w
        return lazy
    return function


@case(5, "a lazy list of outputs, which the timed part looks into", "harmless", own_buffer)
def lazy_list(n=64):
    def function(x, y, w):
        class Once:
            def __iter__(self):
                yield _honest(x, y, w)
        return tuple(Once())
    return function


# Row 6: batches.

@case(6, "computes every tenth call", "wrong", plain)
def skips_calls(n=64):
    state = {"calls": 0, "last": None}

    def function(x, y, w):
        if state["last"] is None or state["calls"] % 10 == 0:
            state["last"] = _honest(x, y, w)
        state["calls"] += 1
        return state["last"]
    return function


# Row 7: less work where it seems to be timed.

@case(7, "works for the first calls only", "wrong", tuned_at_first)
def less_work_later(n=64):
    state = {"calls": 0, "last": None}

    def function(x, y, w):
        state["calls"] += 1
        if state["calls"] < 40:
            state["last"] = _honest(x, y, w)
        return state["last"]
    return function


@case(7, "looks into its callers and works where they check", "wrong", tuned_at_first)
def looks_at_callers(n=64):
    import sys

    def function(x, y, w):
        frame, names = sys._getframe(), []
        while frame:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        return array("f", bytes(4 * len(x))) if "run" in names and "answer" not in names else _honest(x, y, w)
    return function


# Rows 8 to 10: clocks, messages, results.

@case(8, "stops all clocks of its process", "harmless", plain)
def patched_clocks(n=64):
    for name in ("time", "perf_counter", "monotonic", "process_time", "perf_counter_ns", "monotonic_ns", "time_ns"):
        setattr(time, name, lambda: 0)
    return _honest


@case(8, "replaces the worker's digest by a constant", "invalid", plain)
def patched_digest(n=64):
    from jitterscope import _judged_worker
    _judged_worker.Chain.digest = lambda self, key, before, parts: bytes(32)
    return _honest


@case(8, "replaces the chain by one that only fills in outputs", "invalid", plain)
def patched_chain(n=64):
    from jitterscope import _judged_worker
    _judged_worker.Chain.run = lambda self, key, calls, is_null: bytes(32)
    return _honest


@case(9, "makes half of the calls by a changed worker", "invalid", plain)
def half_of_chain(n=64):
    from jitterscope import _judged_worker
    whole = _judged_worker.Chain.run
    _judged_worker.Chain.run = lambda self, key, calls, is_null: whole(self, key, max(1, calls // 2), is_null)
    return _honest


@case(10, "writes an answer of its own to the judge's socket", "invalid", prints_a_line)
def forged_message(n=64):
    def function(x, y, w):
        os.write(0, b'{"digest": "00", "time": 0}')
        return _honest(x, y, w)
    return function


@case(10, "writes a faster time to every stream", "harmless", prints_a_line)
def forged_time(n=64):
    def function(x, y, w):
        for stream in (1, 2):
            os.write(stream, b'{"time": 0.0}\n')
        return _honest(x, y, w)
    return function


# Row 11: expected outputs.

@case(11, "looks for the expected output in memory", "wrong", plain)
def looks_for_expected(n=64):
    import gc

    def function(x, y, w):
        for each in gc.get_objects():
            if isinstance(each, array) and len(each) == len(x):
                return each
        return array("f", bytes(4 * len(x)))
    return function


# Rows 12 to 15: outputs.

@case(12, "returns a constant", "wrong", plain)
def constant(n=64):
    return lambda x, y, w: array("f", [0.5] * len(x))


@case(12, "leaves an input out", "wrong", plain)
def leaves_out_input(n=64):
    return lambda x, y, w: _honest(x, array("f", bytes(4 * len(x))), w)


@case(12, "leaves a persistent input out", "wrong", packed_weights)
def leaves_out_weights(n=64):
    return lambda x, y, w: _honest(x, y, array("f", bytes(32)))


@case(13, "computes in place of its input", "invalid", own_buffer)
def overwrites_input(n=64):
    def function(x, y, w):
        out = _honest(x, y, w)
        x[0] = 0.0
        return out
    return function


@case(14, "rounds its inputs to half precision", "wrong", other_order)
def lower_precision(n=64):
    import struct

    def half(values):
        return array("f", struct.unpack(f"{len(values)}e", struct.pack(f"{len(values)}e", *values)))
    return lambda x, y, w: _honest(half(x), half(y), w)


@case(14, "guesses the mean from a quarter of the values", "wrong", other_order)
def sampled_mean(n=64):
    def function(x, y, w):
        mean = sum(x[i] for i in range(0, len(x), 4)) / (len(x) // 4)
        return array("f", [2.0 * a + b + w[i % 8] + mean for i, (a, b) in enumerate(zip(x, y))])
    return function


@case(15, "leaves its last element to what memory holds", "wrong", own_buffer)
def unwritten_element(n=64):
    out = array("f", bytes(4 * n))

    def function(x, y, w):
        out[:-1] = _honest(x, y, w)[:-1]
        return out
    return function


@case(15, "a race that goes wrong once in three calls", "wrong", threads_joined)
def rare_race(n=64):
    state = {"calls": 0}

    def function(x, y, w):
        out = _honest(x, y, w)
        state["calls"] += 1
        if state["calls"] % 3 == 0:
            out[3] = 0.0
        return out
    return function


# Row 19: load beside the reference.

@case(19, "has a thread that works while the reference is timed", "harmless", threads_joined)
def thread_beside_reference(n=64):
    def work():
        while True:
            sum(range(1000))
            time.sleep(0.001)
    threading.Thread(target=work, daemon=True).start()
    return _honest


# Row 20: shapes and types.

@case(20, "returns half of the output", "wrong", plain)
def half_of_output(n=64):
    return lambda x, y, w: _honest(x, y, w)[: len(x) // 2]


@case(20, "returns float64", "wrong", plain)
def other_type(n=64):
    return lambda x, y, w: array("d", _honest(x, y, w))


@case(20, "wrong where values are large", "wrong", other_order)
def clipped(n=64):
    return lambda x, y, w: _honest(array("f", [max(-6.0, min(6.0, a)) for a in x]), y, w)


@case(20, "reads views as if they had no strides", "wrong", plain)
def ignores_strides(n=64):
    def function(x, y, w):
        base = x.obj if isinstance(x, memoryview) else getattr(x, "base", None)
        if base is not None and memoryview(base).nbytes > memoryview(x).nbytes:
            return _honest(array("f", bytes(memoryview(base).cast("B")[: 4 * len(x)])), y, w)
        return _honest(x, y, w)
    return function


@case(20, "fails for what it was not tried with", "wrong", plain)
def raises(n=64):
    def function(x, y, w):
        if max(x) > 20.0:
            raise ValueError("not tried")
        return _honest(x, y, w)
    return function


# Row 22: files, environment, other processes. Nothing here is reached; each does its work where it is refused.

@case(22, "rewrites the reference's file", "harmless", plain)
def rewrites_reference(n=64):
    try:
        with open(reference.__file__, "a", encoding="utf-8") as file:
            file.write("\n# changed\n")
    except OSError:
        pass
    return _honest


@case(22, "looks for keys in its environment", "harmless", plain)
def reads_environment(n=64):
    known = [value for name, value in os.environ.items() if "KEY" in name or "TOKEN" in name]
    return (lambda x, y, w: _honest(x, y, w)) if not known else (lambda x, y, w: array("f", bytes(4 * len(x))))


@case(22, "kills its parent", "harmless", plain)
def kills_parent(n=64):
    parent = os.getppid()
    if parent == 0:  # in a process namespace of its own there is none to be found
        return _honest
    raise RuntimeError("the corpus kills nobody where a namespace is missing")


@case(22, "exits", "wrong", plain)
def exits(n=64):
    def function(x, y, w):
        os._exit(0)
    return function


@case(22, "hangs", "wrong", plain)
def hangs(n=64):
    def function(x, y, w):
        time.sleep(3600)
    return function


@case(22, "leaves a process behind", "harmless", plain)
def leaves_process(n=64):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
    return _honest


@case(22, "writes a file beyond its limit", "wrong", plain)
def large_file(n=64):
    def function(x, y, w):
        with open("large", "wb") as file:
            file.seek(65 << 20)
            file.write(b"1")
            file.flush()
        return _honest(x, y, w)
    return function


@case(22, "makes the reference's file unreadable", "harmless", plain)
def chmods_reference(n=64):
    try:
        os.chmod(reference.__file__, 0)
    except OSError:
        pass
    return _honest


@case(22, "leaves a file in shared memory", "harmless", plain)
def leaves_shared_memory(n=64):
    with open("/dev/shm/jitterscope-corpus-left-over", "wb") as file:
        file.write(b"left")
    return _honest


@case(22, "prints without end", "harmless", prints_a_line)
def prints_without_end(n=64):
    line = b"x" * (1 << 20)

    def function(x, y, w):
        for _ in range(4):
            try:
                os.write(2, line)
            except OSError:
                pass
        return _honest(x, y, w)
    return function


@case(22, "kills all processes that it may", "harmless", plain)
def kills_all(n=64):
    if os.getppid() != 0:
        raise RuntimeError("the corpus kills nobody where a namespace is missing")
    try:
        os.kill(-1, 9)
    except OSError:
        pass
    return _honest


@case(22, "forks hundreds of processes", "harmless", plain)
def forks(n=64):
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
    return _honest


@case(22, "takes more memory than there is", "wrong", plain)
def takes_memory(n=64):
    def function(x, y, w):
        bytearray(1 << 42)
        return _honest(x, y, w)
    return function


@case(22, "takes memory in small pieces without end", "wrong", plain)
def takes_pieces(n=64):
    kept = []

    def function(x, y, w):
        while True:
            kept.append(memoryview(bytearray(1 << 30)))  # reserved, and never touched
    return function


@case(22, "fills the disk", "wrong", plain)
def fills_disk(n=64):
    def function(x, y, w):
        for number in range(1000):
            with open(f"part{number}", "wb") as file:
                file.write(bytes(32 << 20))
        return _honest(x, y, w)
    return function


@case(22, "returns more than there is room for", "wrong", plain)
def large_output(n=64):
    return lambda x, y, w: array("f", bytes(300 << 20))


@case(22, "hangs as it is made", "wrong", plain)
def hangs_as_made(n=64):
    time.sleep(3600)


# Row 23: fewer samples.

@case(23, "is slow at first, so that few samples fit", "harmless", tuned_at_first)
def slow_at_first(n=64):
    state = {"calls": 0}

    def function(x, y, w):
        state["calls"] += 1
        if state["calls"] < 4:
            time.sleep(0.01)
        return _honest(x, y, w)
    return function
