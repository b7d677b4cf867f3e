"""A chain's kernels on a GPU do what the host does: the same values, digests and seeds. Skipped where PyTorch has no GPU.

`gpu_chain_test.py --cost` prints what a chain costs beside its calls."""

import ctypes
import importlib.util
import mmap
import struct
import sys
import unittest

if importlib.util.find_spec("torch") is not None:
    import torch
    from jitterscope import _judged_gpu, _judged_worker
    from jitterscope._library import check, library
    HAS_GPU = torch.cuda.is_available()
else:
    HAS_GPU = False

KEY = bytes(range(7, 39))
ROOM = 64 << 20
PAGES = []  # a GPU may use them as long as the process lives
TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32"}
FAMILIES = ["normal", "uniform", "rows", "spikes", "structured", "zeros", "large", "denormal", "nonfinite"]


class Opened:
    """A worker's chain in this process, whose mailbox has the key already."""

    def __init__(self, inputs):
        PAGES.append(mmap.mmap(-1, ROOM + _judged_worker._PAGE))
        self.chain = _judged_gpu.GpuChain(PAGES[-1])
        self.chain.arrays = _judged_worker.TorchArrays("cuda")
        self.ticket = 0
        for index, (dtype, family, shape, scale, below) in enumerate(inputs):
            array = torch.zeros(shape, dtype=getattr(torch, TORCH[dtype]), device="cuda")
            self.chain.add_input(index, _judged_worker.Input(dtype, list(shape), family, False, below, scale, bytearray(), array))

    def run(self, function, calls, is_null=False, place=0):
        self.ticket += 1
        self.chain.mailbox[4:36] = KEY
        self.chain.mailbox[0:4] = struct.pack("<I", self.ticket)
        self.chain.made = self.chain.made._replace(function=function)
        if not is_null:
            self.chain.last = self.chain.results([each.array for each in self.chain.inputs])
        self.chain.move(place)
        self.chain.queue(self.ticket, calls, is_null)
        self.chain.finish(self.ticket, calls, is_null)
        self.chain.show(calls)
        assert struct.unpack("<I", self.chain.mailbox[64:68])[0] == self.ticket
        return bytes(self.chain.mailbox[68:100])


def storage(tensor):
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy())


def host_digest(before, outputs):
    digest = ctypes.create_string_buffer(32)
    memory = ctypes.create_string_buffer(outputs, len(outputs)) if outputs else None
    check(library().jitterscope_judge_digest(KEY, before, memory, len(outputs), digest))
    return digest.raw


@unittest.skipUnless(HAS_GPU, "PyTorch has no GPU here")
class GpuChainTest(unittest.TestCase):
    def test_values_are_those_of_the_host(self):
        for dtype in TORCH:
            for family in FAMILIES:
                for shape in ((5,), (3, 1001), (256, 512)):
                    opened = Opened([("f32", "normal", (3,), 1.0, 256), (dtype, family, shape, 0.3, 1000)])
                    opened.run(lambda first, second: first, 1)
                    second = opened.chain.inputs[1]
                    host = second._replace(memory=bytearray(second.array.numel() * second.array.element_size()))
                    host.fill(family, _judged_worker._first_digest(KEY), 1)
                    self.assertEqual(storage(second.array), bytes(host.memory), f"{dtype} {family} {shape}")

    def test_digests_are_those_of_the_host(self):
        """Of outputs shorter and longer than a leaf, a group and a group of nodes, aligned and not, one and several."""
        for counts in ([1], [16], [17], [4096], [4097], [1, 5000, 7], [1 << 18], [(1 << 18) + 3, 1], [2200000], [9000000]):
            shapes = [(count,) for count in counts]
            opened = Opened([("f32", "normal", shape, 1.0, 256) for shape in shapes])
            calls = min(3, ROOM // (4 * sum(counts)))
            last = opened.run(lambda *inputs: tuple(each * 2 for each in inputs), calls)
            size, digest = 4 * sum(counts), _judged_worker._first_digest(KEY)
            for call in range(calls):
                kept = bytes(opened.chain.outputs[call * size:(call + 1) * size])
                expected = b""
                for index, each in enumerate(opened.chain.inputs):
                    host = each._replace(memory=bytearray(4 * each.array.numel()))
                    host.fill("normal", digest, index)
                    expected += storage(torch.frombuffer(host.memory, dtype=torch.float32) * 2)
                self.assertEqual(kept == expected, True, f"{counts}, call {call}")
                digest = host_digest(digest, kept)
            self.assertEqual(last, digest, str(counts))

    def test_places_differ_and_digests_do_not(self):
        opened = Opened([("f32", "normal", (1000,), 1.0, 256)])
        seen, places = set(), set()

        def twice(x):
            places.add(x.data_ptr())
            return x * 2
        for place in range(5):
            seen.add(opened.run(twice, 2, place=place))
            self.assertEqual(len(bytes(opened.chain.digest_of_inputs())), 32)
        self.assertEqual((len(seen), len(places)), (1, 5))

    def test_odd_bytes(self):
        opened = Opened([("f16", "normal", (33,), 1.0, 256)])
        last = opened.run(lambda x: (x * 2, (x > 0).to(torch.int8)[1:]), 2)
        size = 66 + 32
        digest = host_digest(_judged_worker._first_digest(KEY), bytes(opened.chain.outputs[:size]))
        self.assertEqual(last, host_digest(digest, bytes(opened.chain.outputs[size:2 * size])))


def measure_cost():
    """Prints the time of one more link without a call, by events over two lengths, and that of its kernels."""
    print("| outputs | inputs | chain, µs a call | fill, µs | keep, µs |\n|--:|--:|--:|--:|--:|")
    for outputs, inputs in ((1 << 10, 1 << 10), (1 << 14, 1 << 14), (1 << 18, 1 << 18), (1 << 20, 1 << 10), (1 << 10, 1 << 20),
                            (1 << 20, 1 << 20), (1 << 20, 1 << 23), (1 << 22, 1 << 22)):
        opened = Opened([("f32", "normal", (inputs // 4,), 1.0, 256)])
        out = torch.zeros(outputs // 4, device="cuda")
        opened.run(lambda x, out=out: out, 1)

        def queued(calls):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(20_000_000)
            begin.record()
            opened.ticket += 1
            opened.chain.mailbox[0:4] = struct.pack("<I", opened.ticket)
            opened.chain.queue(opened.ticket, calls, True)
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end)
        many = min(160, ROOM // outputs)
        times = [1e3 * (queued(many) - queued(4)) / (many - 4) for _ in range(5)]
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            queued(many)
        of_kernel = {each.key: each.device_time_total / each.count for each in profile.key_averages()}
        print(f"| {outputs >> 10} KiB | {inputs >> 10} KiB | {sorted(times)[2]:.2f} ({min(times):.2f} to {max(times):.2f}) "
              f"| {of_kernel.get('judged_fill', 0):.2f} | {of_kernel.get('judged_keep', 0):.2f} |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--cost"]:
        measure_cost()
    else:
        unittest.main()
