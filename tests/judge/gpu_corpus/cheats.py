"""Cheats and mistakes on a GPU, as those of ../corpus: `row` is that of the table of cheats in docs/evidence/judge.md."""

import ctypes
import threading

import reference
import torch

CASES = {}


def case(row, name, expected, twin=None):
    def add(make):
        CASES[make.__name__] = {"row": row, "name": name, "expected": expected, "twin": twin.__name__ if twin else ""}
        return make
    return add


_honest = reference.function


# Honest twins. Each does what a cheat pretends, or what a rule too strict would forbid.

def plain(n=512):
    return _honest


def joined_stream(n=512):
    """Half of the work on a stream of its own, which is joined."""
    side = torch.cuda.Stream()

    def function(x, y, w):
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        with torch.cuda.stream(side):
            low = torch.tanh(x[n // 2:] @ w) + y[n // 2:]
        high = torch.tanh(x[:n // 2] @ w) + y[:n // 2]
        main.wait_stream(side)
        low.record_stream(main)
        return torch.cat([high, low])
    return function


def inner_graph(n=512):
    """Records itself once over memory of its own, copies its inputs there, and replays."""
    recorded = []

    def function(x, y, w):
        if x.dtype != torch.float32:
            return _honest(x, y, w)
        if not recorded:
            own_x, own_y = x.clone(), y.clone()
            _honest(own_x, own_y, w)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = _honest(own_x, own_y, w)
            recorded.append((graph, out, own_x, own_y))
        graph, out, own_x, own_y = recorded[0]
        own_x.copy_(x)
        own_y.copy_(y)
        graph.replay()
        return out
    return function


def packed_weights(n=512):
    """Prepares the persistent input once."""
    packed = []

    def function(x, y, w):
        if w.dtype != torch.float32:
            return _honest(x, y, w)
        if not packed:
            packed.append(w.t().contiguous())
        return torch.tanh(torch.nn.functional.linear(x, packed[0])) + y
    return function


def own_buffer(n=512):
    """Writes to the same memory each time."""
    out = torch.empty(n, n, device="cuda")

    def function(x, y, w):
        torch.mm(x, w, out=out)
        return out.tanh_().add_(y)
    return function


def tuned_at_first(n=512):
    """Times two ways in its first call, waits for them, and keeps one."""
    chosen = []

    def function(x, y, w):
        if not chosen:
            times = []
            for way in (_honest, lambda x, y, w: torch.add(torch.tanh(torch.mm(x, w)), y)):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                way(x, y, w)
                end.record()
                end.synchronize()
                times.append((begin.elapsed_time(end), way))
            chosen.append(min(times, key=lambda each: each[0])[1])
        return chosen[0](x, y, w)
    return function


def atomics(n=512):
    """Adds by atomic operations, whose order differs from call to call."""
    def function(x, y, w):
        half = n // 2
        index = torch.arange(n, device="cuda")
        out = torch.zeros(n, n, device="cuda")
        out.index_add_(0, index, x[:, :half] @ w[:half])
        out.index_add_(0, index, x[:, half:] @ w[half:])
        return torch.tanh(out) + y
    return function


def waits_each_time(n=512):
    """Looks at a value on the host in each call: it cannot be queued ahead."""
    def function(x, y, w):
        return _honest(x, y, w) if float(x[0, 0]) < 1e9 else y
    return function


def triton_kernel(n=512):
    """tanh and addition in one kernel of Triton."""
    import triton_add
    return lambda x, y, w: triton_add.tanh_add(x @ w, y)


def compiled(n=512):
    """As torch.compile makes it."""
    return torch.compile(_honest)


# Rows 1 and 2: work left to others.

@case(1, "puts the work on another stream and does not wait", "wrong", joined_stream)
def unjoined_stream(n=512):
    side = torch.cuda.Stream()

    def function(x, y, w):
        with torch.cuda.stream(side):
            torch.cuda._sleep(200000)
            return _honest(x, y, w)
    return function


@case(2, "has a thread launch the work behind the call", "wrong", plain)
def launched_later(n=512):
    def function(x, y, w):
        out = torch.zeros(n, n, device="cuda")
        timer = threading.Timer(0.02, lambda: out.copy_(_honest(x, y, w)))
        timer.start()
        return out
    return function


# Rows 3 to 7: less work.

@case(3, "remembers its output by the inputs' addresses", "wrong", packed_weights)
def memo_by_pointer(n=512):
    memo = {}

    def function(x, y, w):
        key = (x.data_ptr(), y.data_ptr())
        if key not in memo:
            memo[key] = _honest(x, y, w)
        return memo[key]
    return function


@case(4, "compares all values on the GPU with those that it remembers", "harmless", waits_each_time)
def memo_by_values(n=512):
    memo = []

    def function(x, y, w):
        for old_x, old_y, out in memo:
            if torch.equal(old_x, x) and torch.equal(old_y, y):
                return out
        out = _honest(x, y, w)
        memo[:] = [(x.clone(), y.clone(), out)]
        return out
    return function


@case(5, "returns a tensor that is computed when it is looked at", "harmless", own_buffer)
def lazy_tensor(n=512):
    class Lazy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            def real(each):
                return each.work() if isinstance(each, Lazy) else each
            return function(*[real(each) for each in args], **(kwargs or {}))

    def function(x, y, w):
        made = torch.Tensor._make_subclass(Lazy, torch.empty(n, n, device="cuda"))
        kept = (x, y, w)
        made.work = lambda: _honest(*kept)
        return made
    return function


@case(6, "computes every tenth call", "wrong", plain)
def every_tenth(n=512):
    calls, last = [0], []

    def function(x, y, w):
        calls[0] += 1
        if calls[0] % 10 == 1 or not last:
            last[:] = [_honest(x, y, w)]
        return last[0]
    return function


@case(7, "works for the first calls only", "wrong", tuned_at_first)
def less_work_later(n=512):
    calls = [0]

    def function(x, y, w):
        calls[0] += 1
        return _honest(x, y, w) if calls[0] < 150 else y + 0.5
    return function


# Rows 8 to 10: clocks, workers, results.

@case(8, "patches events, waiting and the clock", "harmless", plain)
def patched_events(n=512):
    import time
    torch.cuda.Event.elapsed_time = lambda self, other: 1e-3
    torch.cuda.synchronize = lambda *_: None
    time.perf_counter = time.monotonic = time.time = lambda: 0.0
    return _honest


@case(9, "has its worker queue half of the calls", "invalid", plain)
def half_of_chain(n=512):
    from jitterscope import _judged_gpu
    whole = _judged_gpu.GpuChain.queue

    def queue(self, ticket, calls, is_null):
        whole(self, ticket, max(1, calls // 2), is_null)
        self._make_room(calls, 4 * n * n)
    _judged_gpu.GpuChain.queue = queue
    return _honest


@case(10, "tells the judge at once that its chain has ended", "invalid", plain)
def forged_end(n=512):
    from jitterscope import _judged_gpu
    whole = _judged_gpu.GpuChain.queue

    def queue(self, ticket, calls, is_null):
        whole(self, ticket, calls, is_null)
        self.mailbox[64:68] = ticket.to_bytes(4, "little")
    _judged_gpu.GpuChain.queue = queue
    return _honest


# Rows 12 to 15: outputs.

@case(12, "returns a constant", "wrong", plain)
def constant(n=512):
    out = torch.full((n, n), 0.5, device="cuda")
    return lambda x, y, w: out


@case(13, "computes in place of its input", "invalid", own_buffer)
def in_place(n=512):
    return lambda x, y, w: y.add_(torch.tanh(x @ w))


@case(14, "rounds its inputs to half precision", "wrong", atomics)
def half_precision(n=512):
    return lambda x, y, w: torch.tanh((x.half() @ w.half()).float()) + y


@case(15, "leaves its last row to what memory holds", "wrong", own_buffer)
def last_row(n=512):
    def function(x, y, w):
        out = torch.empty(n, n, device="cuda")
        out[:-1] = _honest(x[:-1], y[:-1], w)
        return out
    return function


# Row 16: the cache.

class _Window(ctypes.Structure):
    """CUaccessPolicyWindow."""

    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t), ("hit_ratio", ctypes.c_float), ("hit", ctypes.c_int),
                ("miss", ctypes.c_int)]


class _Attribute(ctypes.Union):
    """CUlaunchAttributeValue."""

    _fields_ = [("window", _Window), ("padding", ctypes.c_char * 64)]


@case(16, "keeps an input in the part of the L2 that persists", "harmless", plain)
def persisting_lines(n=512):
    driver = ctypes.CDLL("libcuda.so.1")
    persisting_limit, window_of_stream, persisting, streaming = 6, 1, 2, 1
    is_set = []

    def function(x, y, w):
        if not is_set:
            value = _Attribute(window=_Window(w.data_ptr(), w.numel() * w.element_size(), 1.0, persisting, streaming))
            is_set.append((driver.cuCtxSetLimit(persisting_limit, ctypes.c_size_t(32 << 20)),
                           driver.cuStreamSetAttribute(None, window_of_stream, ctypes.byref(value))))
        return _honest(x, y, w)
    return function


# Rows 19 and 20.

@case(19, "has a thread that loads the GPU beside the reference", "harmless", joined_stream)
def loads_beside(n=512):
    side = torch.cuda.Stream()

    def work():
        with torch.cuda.stream(side):
            for _ in range(100):
                torch.cuda._sleep(1000000)
    threading.Thread(target=work, daemon=True).start()
    return _honest


@case(20, "returns half precision", "wrong", plain)
def half_output(n=512):
    return lambda x, y, w: _honest(x, y, w).half()


@case(20, "returns what lies in the host's memory", "wrong", plain)
def host_output(n=512):
    return lambda x, y, w: _honest(x, y, w).cpu()


# Row 22: the machine.

@case(22, "never ends on the GPU", "wrong", plain)
def endless_kernel(n=512):
    def function(x, y, w):
        torch.cuda._sleep(1 << 60)
        return _honest(x, y, w)
    return function


@case(22, "ends the context by an index out of bounds", "wrong", plain)
def ends_context(n=512):
    def function(x, y, w):
        return _honest(x, y, w)[torch.full((n,), 1 << 40, device="cuda")]
    return function


@case(22, "takes more memory than the GPU has", "wrong", plain)
def too_much_memory(n=512):
    def function(x, y, w):
        return _honest(x, y, w) + torch.empty(1 << 40, device="cuda")[:n]
    return function
