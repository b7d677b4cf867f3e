"""js.measure on a GPU, of callables of PyTorch: skipped where one of the two is missing."""

import ctypes
import gc
import unittest

import jitterscope as js

try:
    import torch
    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False
QUICK = {"time_limit": 1.0, "precision": 0.02}


@unittest.skipUnless(HAS_GPU, "needs PyTorch with a GPU")
class OnTheGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.a = torch.randn(2048, 2048, device="cuda", dtype=torch.float16)
        cls.small = torch.randn(64, 64, device="cuda")

    def product(self):
        return self.a @ self.a

    def test_the_gpu_that_torch_uses_is_measured_and_named(self):
        time = js.measure(self.product, **QUICK)
        self.assertEqual(time.device["id"], f"cuda:{torch.cuda.current_device()}")
        self.assertTrue(10e-6 < time.median < 1e-3, time)
        self.assertGreater(time.clock, 1e8)
        self.assertEqual(time.notes, [])
        self.assertEqual(time.memory, self.a.numel() * 2)

    def test_short_calls_are_recorded_by_torch(self):
        time = js.measure(lambda: self.small * 2 + 1, **QUICK)
        self.assertEqual(time.measurements[0].instrument, "graph", time.notes)
        self.assertTrue(0.5e-6 < time.median < 20e-6, time)
        graph = js.measure(lambda: self.small * 2 + 1, queue="graph", **QUICK)
        self.assertEqual(graph.measurements[0].queue, "graph")
        self.assertAlmostEqual(graph.median / time.median, 1, delta=0.1)

    def test_every_cache_state_load_and_queue(self):
        time = js.measure(self.product, cache=["warm", "cold", "dirty"], load=["burst", "sustained"],
                          sustained_time_limit=1, **QUICK)
        self.assertEqual(len(time.measurements), 6)
        self.assertEqual(js.measure(self.product, queue="eager", **QUICK).measurements[0].queue, "eager")

    def test_kernels_are_traced(self):
        time = js.measure(self.product, kernels=True, **QUICK)
        self.assertEqual(len(time.kernels), 1, time.kernels)
        self.assertAlmostEqual(time.kernels[0].median / time.median, 1, delta=0.2)

    def test_what_waits_is_timed_and_says_so(self):
        time = js.measure(lambda: self.small.sum().item(), **QUICK)
        self.assertTrue(time.waits_for_device)
        self.assertIn("waits_for_gpu", [finding.id for finding in time.findings])
        graph = js.measure(lambda: self.small.sum().item(), queue="graph", **QUICK)
        self.assertIn("cannot be recorded", " ".join(graph.notes))
        self.assertGreater(float((self.small + 1).sum()), -1e9)  # torch works as before

    def test_another_stream_is_waited_for_and_named(self):
        other = torch.cuda.Stream()

        def elsewhere():
            with torch.cuda.stream(other):
                self.product()

        time = js.measure(elsewhere, **QUICK)
        self.assertIn("another stream", " ".join(time.notes))
        self.assertGreater(time.median, 10e-6)

    def test_nothing_launched_is_named(self):
        self.assertIn("launched nothing", " ".join(js.measure(lambda: None, **QUICK).notes))

    def test_training_steps_and_mixed_precision(self):
        model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x, y = torch.randn(64, 512, device="cuda"), torch.randint(10, (64,), device="cuda")

        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()

        self.assertGreater(js.measure(step, **QUICK).median, 10e-6)

    def test_random_numbers_and_new_shapes(self):
        self.assertGreater(js.measure(lambda: torch.nn.functional.dropout(self.small, 0.5), **QUICK).median, 1e-7)
        sizes = iter(range(64, 100_000))
        self.assertGreater(js.measure(lambda: torch.ones(next(sizes), device="cuda"), **QUICK).median, 1e-7)

    def test_bare_launches_on_our_stream(self):
        cuda = ctypes.CDLL("libcuda.so.1")
        stream = js.stream()
        memory = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")

        def fill():
            cuda.cuMemsetD8Async(ctypes.c_uint64(memory.data_ptr()), ctypes.c_ubyte(1), ctypes.c_size_t(1 << 20),
                                 ctypes.c_void_p(stream.pointer))

        time = js.measure(fill, **QUICK)
        self.assertTrue(0.3e-6 < time.median < 50e-6, time)
        self.assertEqual(time.notes, [])

    def test_exceptions_leave_nothing_behind(self):
        for number in (1, 2, 9, 11, 14):
            error, count = ValueError(number), 0

            def function():
                nonlocal count
                count += 1
                if count >= number:
                    raise error
                self.small * 2

            with self.assertRaises(ValueError) as caught:
                js.measure(function, **QUICK)
            self.assertIs(caught.exception, error)
            self.assertEqual(js.measure(lambda: self.small * 2, **QUICK).measurements[0].instrument, "graph")

    def test_memory_does_not_grow(self):
        def several():
            for _ in range(5):
                for function in (self.product, lambda: self.small * 2):  # launched, and recorded
                    js.measure(function, precision=0.5, minimum_rounds=1, time_limit=0.05)
            gc.collect()
            torch.cuda.synchronize()
            return torch.cuda.mem_get_info()[0]

        several()
        before = several()
        self.assertGreaterEqual(several(), before - (2 << 20))


if __name__ == "__main__":
    unittest.main()
