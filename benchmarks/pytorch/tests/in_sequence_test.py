"""A network's convolutions in sequence against PyTorch's training, in one process and in several."""

import contextlib
import io
import unittest

import runs
import compare_in_sequence
import record_training


class InSequence(unittest.TestCase):
    def test_one_process_is_the_reference_by_default(self):
        status, printed, said = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE)
        self.assertEqual((status, said), (1, ""))
        rows = runs.table_rows(printed)
        self.assertEqual(rows["layer1.fprop"], ["20.00", "yes", "20.40", "+2.0%", "19.40", "19.40", "19.40", "19.40"])
        self.assertEqual(rows["in sequence, each call when the one before has ended"], ["+1.00%", "2.00%", "2.00%"])
        self.assertEqual(rows["in sequence, on a full queue"], ["+11.10%", "11.10%", "12.20%"])
        # The stand-in's spans are half a microsecond longer here, and as long as its kernels there.
        self.assertEqual(rows["first start to last end"], ["+3.00%", "3.00%", "4.50%"])
        self.assertEqual(rows["in sequence, each as in PyTorch's run"], ["+1.00%", "2.00%", "2.00%"])
        self.assertIn("waited for its host before 3 of 3 of them.", printed)
        self.assertNotIn("against itself", printed.lower())

    def test_what_counts_is_the_queue_of_pytorchs_run(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, STAND_IN_QUEUE="full")
        rows = runs.table_rows(printed)
        self.assertIn("waited for its host before 0 of 3 of them.", printed)
        self.assertEqual(rows["layer1.fprop"][:4], ["20.00", "no", "22.44", "+12.2%"])
        self.assertEqual(rows["in sequence, each as in PyTorch's run"], rows["in sequence, on a full queue"])

    def test_what_counts_of_each_convolution_is_the_queue_that_it_had(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, STAND_IN_QUEUE="first")
        rows = runs.table_rows(printed)
        self.assertIn("waited for its host before 1 of 3 of them.", printed)
        self.assertEqual(rows["layer0.fprop"][1:4], ["yes", "30.30", "+1.0%"])
        self.assertEqual(rows["layer1.fprop"][1:4], ["no", "22.44", "+12.2%"])

    def test_backward_compares_each_gradient(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, "--pass", "backward",
                                 STAND_IN_QUEUE="op")
        rows = runs.table_rows(printed)
        self.assertIn("backward, batch 64", printed)
        self.assertEqual([name for name in rows if name.startswith("layer")],
                         [f"layer{number}.{gradient}" for number in (2, 1, 0) for gradient in ("dgrad", "wgrad")])
        # PyTorch's host launches both gradients at once, so that the GPU waits before the first alone.
        self.assertEqual(rows["layer1.dgrad"][:4], ["40.00", "yes", "40.80", "+2.0%"])
        self.assertEqual(rows["layer1.wgrad"][:4], ["20.00", "no", "22.44", "+12.2%"])

    def test_each_placement_has_a_row_of_errors(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, "--placements", 2)
        rows = runs.table_rows(printed)
        self.assertEqual(rows["in sequence, each call when the one before has ended"], ["+1.00%", "2.00%", "2.00%"])
        self.assertEqual(rows["in sequence, each call when the one before has ended, in placement 1"],
                         ["-3.04%", "3.04%", "5.92%"])
        self.assertEqual(rows["in sequence, each as in PyTorch's run, in placement 1"], ["-3.04%", "3.04%", "5.92%"])
        # The middle of two is half-way: 2 % less than in the first.
        self.assertEqual(rows["layer1.fprop"][:4], ["20.00", "yes", "19.99", "-0.0%"])
        self.assertEqual(rows["in sequence, each as in PyTorch's run, median of 2 placements"],
                         ["-1.02%", "1.02%", "3.96%"])

    def test_of_several_processes_the_median_counts_and_their_spread_is_told(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, "--repeats", 3,
                                 STAND_IN_STEP="0.02")
        rows = runs.table_rows(printed)
        self.assertEqual(rows["layer1.fprop"][:3], ["20.40 (20.00 to 20.80)", "yes", "20.40"])
        # 1 / 1.03, 1.02 / 1.02 and 1.04 / 1.01, three times each.
        self.assertEqual(rows["PyTorch against itself"], ["+0.00%", "2.91%", "2.97%"])

    def test_each_process_is_compared_with_the_others_alone(self):
        errors = compare_in_sequence.against_itself([[10.0, 5.0], [11.0, 5.0], [12.0, 8.0]])
        for error, expected in zip(errors, (10 / 11.5, 5 / 6.5, 11 / 11, 5 / 6.5, 12 / 10.5, 8 / 5), strict=True):
            self.assertAlmostEqual(error, expected - 1)

    def test_a_span_holds_what_is_between_the_kernels(self):
        there = compare_in_sequence.There([("pad", 10.0, 7.0), ("gemm", 5.0, 15.0)])
        self.assertEqual((there.kernels(), there.span(), there.wait()), (15.0, 30.0, 7.0))

    def test_both_gradients_are_one_call_in_pytorch_and_two_here(self):
        here = [compare_in_sequence.Here("a", 0.0, {}, [("pad", 1.0), ("gemm", 1.0)]),
                compare_in_sequence.Here("b", 0.0, {}, [("gemm", 1.0)])]
        kernels = [("pad", 1.0, 9.0), ("gemm", 2.0, 1.0), ("gemm", 4.0, 8.0)]
        split = compare_in_sequence.split_as(here, kernels)
        self.assertEqual([(each.kernels(), each.wait()) for each in split], [(3.0, 9.0), (4.0, 8.0)])
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            compare_in_sequence.split_as(here, kernels[1:])

    def test_the_kernels_of_what_is_far_off_are_set_side_by_side(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, STAND_IN_QUEUE="first")
        shown = printed[printed.index("| kernels of those"):].splitlines()[2:4]
        self.assertEqual(shown, ["| gemm; PyTorch: convolution | layer1.fprop | 20.00 | 22.44 |",
                                 "| gemm; PyTorch: convolution | layer2.fprop | 10.00 | 10.78 |"])

    def test_a_convolution_without_a_time_ends_the_comparison(self):
        document = {"results": [{"operation": "conv2d:n=1,direction=fprop"}],
                    "sequence": {"calls": [{"name": "layer1.fprop", "result": 0, "failure": "out of memory"}]}}
        said = io.StringIO()
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(said):
            compare_in_sequence.convolutions_here(document, "forward")
        self.assertIn("layer1.fprop has no time in sequence: out of memory", said.getvalue())

    def test_kernels_are_the_medians_over_the_steps(self):
        def kernel(name, start, time):
            return {"name": name, "ts": start, "dur": time}
        steps = [[kernel("pad", 10.0, 1.0), kernel("gemm", 20.0, 3.0)],
                 [kernel("pad", 30.0, 1.4), kernel("gemm", 40.0, 5.0)]]
        waits = {10.0: 4.0, 20.0: 9.0, 30.0: 6.0, 40.0: 8.0}
        self.assertEqual([(name, round(time, 3), wait) for name, time, wait in record_training.medians_of(steps, waits)],
                         [("pad", 1.2, 5.0), ("gemm", 4.0, 8.5)])

    def test_without_pytorch_or_a_gpu_nothing_is_compared(self):
        for lacks, reason in (("torch", "pip install torch"), ("gpu", "PyTorch sees no GPU")):
            status, printed, said = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE,
                                             STAND_IN_LACKS=lacks)
            self.assertEqual((status, printed), (3, ""))
            self.assertIn(reason, said)


if __name__ == "__main__":
    unittest.main()
