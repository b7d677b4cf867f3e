"""Kernels of one's own from Python, on a simulated GPU."""

import json
import pathlib
import tempfile
import unittest

import jitterscope as js

SOURCE = 'extern "C" __global__ void scale(const float* x, float* y, int n, float a) {}\n'
QUICK = {"device": "virtual:quiet", "cache": "warm"}


class Kernels(unittest.TestCase):
    def test_the_text_is_what_the_command_line_takes(self):
        kernel = js.Kernel("mine.cu", "scale<float>", grid=(64, 2), block=256, x="f32[1Mi]", y="out:f32[1Mi]", n=1 << 20,
                           a=2.0, b=1e-30, c="i64:5")
        self.assertEqual(kernel.operation, "cuda:mine.cu:scale<float>,grid=64x2,block=256,x=f32[1Mi],y=out:f32[1Mi],"
                                           "n=1048576,a=2.0,b=1e-30,c=i64:5")
        self.assertIn(kernel.operation, repr(kernel))
        every = js.Kernel(pathlib.Path("a/mine.cu"), "f", grid="n/block", block=(8, 8, 2), shared="48Ki", registers=64,
                          fast_math=True, optimize=1, architecture=80, reference="g", n=3, file=1, kernel=2)
        self.assertEqual(every.operation, "cuda:a/mine.cu:f,grid=n/block,block=8x8x2,shared=48Ki,registers=64,fast_math=1,"
                                          "optimize=1,architecture=80,reference=g,n=3,file=1,kernel=2")
        self.assertIn(",min_blocks=2", js.Kernel("mine.cu", "f", grid=1, block=1, min_blocks=2).operation)

    def test_a_launch_needs_a_grid_and_a_block(self):
        for given, missing in (({}, "grid and block not given"), ({"block": 256}, "grid not given"),
                               ({"grid": "n/block"}, "block not given")):
            with self.assertRaises(js.UsageError) as caught:
                js.Kernel("mine.cu", "scale", n=1 << 20, x="f32[n]", **given)
            self.assertIn(f"Kernel scale: {missing}; block is the threads of each block", str(caught.exception))

    def test_what_no_kernel_takes_is_refused(self):
        for arguments in ({"a": float("nan")}, {"a": None}, {"a": [1]}):
            with self.assertRaises(js.UsageError) as caught:
                js.Kernel("mine.cu", "f", grid=1, block=1, **arguments)
            self.assertIn("a=", str(caught.exception))
        with self.assertRaises(js.UsageError):
            js.Kernel("mine.cu", "f", grid=(1, 1, 1, 1), block=1)
        with self.assertRaises(js.UsageError) as caught:
            js.Kernel("not/there.cu", "f", grid=1, block=1).measure(**QUICK)
        self.assertIn("not/there.cu", str(caught.exception))

    def test_it_is_measured_and_studied(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mine.cu"
            file.write_text(SOURCE)
            kernel = js.Kernel(file, "scale", grid="n/block", block=256, x="f32[n]", y="out:f32[n]", n=1 << 16, a=2.5)
            time = kernel.measure(**QUICK)
            self.assertGreater(time.median, 0)
            self.assertIn("grid=256,block=256,x=f32[65536]", json.dumps(time.record))
            study = kernel.study("occupancy", processes=2, **QUICK)
            self.assertEqual(study.record["alternatives"][:2], ["block=256", "block=64"])
            self.assertAlmostEqual(study.ratio, 1.0, 1)  # a simulated GPU does not know of blocks


if __name__ == "__main__":
    unittest.main()
