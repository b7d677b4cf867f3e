"""Our stream as the current one of PyTorch and CuPy, by stand-ins that note what they are asked."""

import contextlib
import sys
import types
import unittest
from unittest import mock

from jitterscope import _device, _measure

POINTER = 0x1230


class FakeStream:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def wait_stream(self, other):
        self.log.append(f"{self.name} waits for {other.name}")

    def synchronize(self):
        self.log.append(f"{self.name} is waited for")


def fake_torch(log):
    theirs = FakeStream(log, "theirs")

    @contextlib.contextmanager
    def stream(chosen):
        log.append(f"{chosen.name} is current")
        yield
        log.append("theirs is current")

    class Graph:
        def __init__(self, keep_graph):
            assert keep_graph

        def capture_begin(self, pool, capture_error_mode):
            self.own_pool = pool or (0, len(log) + 1)
            log.append(f"begin {capture_error_mode}")

        def pool(self):
            return self.own_pool

        def capture_end(self):
            log.append("end")

        def raw_cuda_graph(self):
            return 0x77

    def external(pointer, device):
        assert (pointer, device) == (POINTER, "cuda:1")
        return FakeStream(log, "ours")

    cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, current_device=lambda: 1, current_stream=lambda index: theirs,
                                 ExternalStream=external, stream=stream, CUDAGraph=Graph)
    return types.SimpleNamespace(cuda=cuda)


DEVICE = types.SimpleNamespace(ordinal=1, stream=types.SimpleNamespace(pointer=POINTER))


class PyTorch(unittest.TestCase):
    def setUp(self):
        self.log = []
        patch = mock.patch.dict(sys.modules, {"torch": fake_torch(self.log)})
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(_measure._latest_capture.clear)

    def test_its_gpu_is_the_default(self):
        self.assertEqual(_device.default_device(), "cuda:1")
        sys.modules["torch"].cuda.is_initialized = lambda: False
        self.assertEqual(_device.default_device(), "cpu")

    def test_our_stream_lies_between_what_is_before_and_after_on_theirs(self):
        with _device.current_stream(DEVICE):
            self.log.append("measured")
        self.assertEqual(self.log, ["ours waits for theirs", "ours is current", "measured", "theirs is current",
                                    "theirs waits for ours"])

    def test_also_where_measuring_fails(self):
        with self.assertRaises(ValueError), _device.current_stream(DEVICE):
            raise ValueError
        self.assertEqual(self.log[-1], "theirs waits for ours")

    def test_what_a_call_allocates_is_counted(self):
        counted = iter([1000, 1768])
        sys.modules["torch"].cuda.memory_stats = lambda: {"allocated_bytes.all.allocated": next(counted)}
        device = types.SimpleNamespace(**vars(DEVICE), in_use=contextlib.nullcontext)
        self.assertEqual(_measure.bytes_of_one_call(lambda: self.log.append("call"), device), 768)
        self.assertEqual(self.log[1:4], ["ours is current", "call", "ours is waited for"])

    def test_a_cpu_has_no_stream(self):
        with _device.current_stream(types.SimpleNamespace(ordinal=None)) as stream:
            self.assertIsNone(stream)
        self.assertEqual(self.log, [])

    def calls(self, function):
        return _measure._Calls("work", function, _measure._Interruption(), stream=FakeStream(self.log, "ours"),
                               ordinal=1)

    def test_it_records_itself_and_its_graph_is_kept(self):
        import ctypes
        calls = self.calls(lambda: self.log.append("call"))
        graph = ctypes.c_void_p()
        reason = ctypes.create_string_buffer(512)
        self.assertEqual(calls.record(0, ctypes.pointer(graph), ctypes.addressof(reason), 0), 0)
        self.assertEqual(self.log, ["begin thread_local", "call", "end"])
        self.assertEqual(graph.value, 0x77)
        self.assertEqual(len(calls.graphs), 1)

    def test_one_that_is_too_old_is_not_recorded_behind_its_back(self):
        import ctypes
        sys.modules["torch"].cuda.CUDAGraph = type("CUDAGraph", (), {})
        reason = ctypes.create_string_buffer(512)
        calls = self.calls(lambda: self.log.append("call"))
        self.assertEqual(calls.record(0, ctypes.pointer(ctypes.c_void_p()), ctypes.addressof(reason), 0), 1)
        self.assertIn(b"install a newer one", reason.value)
        self.assertEqual(self.log, [])

    def test_recordings_share_a_pool_of_memory(self):
        import ctypes
        pools = []
        for _ in range(3):
            calls = self.calls(lambda: None)
            self.assertEqual(calls.record(0, ctypes.pointer(ctypes.c_void_p()), 0, 0), 0)
            pools.append(calls.graphs[0].pool())
        self.assertEqual(len(set(pools)), 1)

    def test_what_it_cannot_record_ends_the_recording_and_says_why(self):
        import ctypes

        def function():
            raise RuntimeError("operation not permitted\nwhen stream is capturing")

        calls = self.calls(function)
        reason = ctypes.create_string_buffer(512)
        self.assertEqual(calls.record(0, ctypes.pointer(ctypes.c_void_p()), ctypes.addressof(reason), 0), 1)
        self.assertEqual(self.log, ["begin thread_local", "end"])
        self.assertEqual(reason.value.decode(), "RuntimeError: operation not permitted when stream is capturing")
        self.assertFalse(calls.stopped)

    def test_a_long_reason_fits_its_room(self):
        import ctypes

        def function():
            raise ValueError("é" * 1000)

        reason = ctypes.create_string_buffer(b"x" * 600, 600)
        self.assertEqual(self.calls(function).launch(0, ctypes.addressof(reason), 0), 1)
        self.assertLess(len(reason.value), 512)
        self.assertTrue(reason.value.decode().endswith("é"))
        self.assertEqual(reason.raw[513:600], b"x" * 87)


class CuPy(unittest.TestCase):
    def test_our_stream_is_current_behind_theirs(self):
        log = []

        class Scope:
            def __init__(self, name):
                self.name = name

            def __enter__(self):
                log.append(self.name)

            def __exit__(self, *_):
                log.append("out")

        cuda = types.SimpleNamespace(Device=lambda index: Scope(f"device {index}"),
                                     ExternalStream=lambda pointer: Scope(f"stream {pointer:#x}"),
                                     get_current_stream=lambda: FakeStream(log, "theirs"))
        with mock.patch.dict(sys.modules, {"cupy": types.SimpleNamespace(cuda=cuda)}):
            with _device.current_stream(DEVICE):
                log.append("measured")
        self.assertEqual(log, ["device 1", "theirs is waited for", "stream 0x1230", "measured", "out", "out"])


class Fork(unittest.TestCase):
    def test_a_gpu_behind_a_fork_is_refused_with_a_sentence(self):
        with mock.patch.object(_device, "_forked_from_gpu", True):
            with self.assertRaises(_device.MissingError) as caught:
                _device.open_device("cuda")
        self.assertIn("spawn", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
