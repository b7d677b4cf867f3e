"""PyTorch's kernel times against a file, against themselves, and jitterscope against both."""

import json
import pathlib
import tempfile
import unittest

import runs
import kernel_times
import record_kernels
from kernel_times import Kernel


class KernelTimes(unittest.TestCase):
    def test_over_an_even_number_of_launches_the_upper_median_counts(self):
        self.assertEqual(kernel_times.summary([4.0, 2.0, 2.0, 4.5]), {"n": 4, "med": 4.0, "min": 2.0, "max": 4.5})

    def test_near_is_two_percent_and_a_tick_excuses_the_shortest(self):
        judged = [kernel_times.judge(*pair) for pair in ((101.9, 100.0), (98.1, 100.0), (0.832, 0.8), (102.1, 100.0))]
        self.assertEqual(judged, ["near", "near", "tick", "off"])

    def test_kernels_that_run_on_one_side_or_another_number_of_times_are_no_times(self):
        here = {"a": Kernel("a", 1, 5.0), "b": Kernel("b", 2, 6.0), "new": Kernel("new", 1, 1.0)}
        there = {"a": Kernel("a", 1, 5.5), "b": Kernel("b", 1, 6.0), "old": Kernel("old", 1, 1.0)}
        differences, times = kernel_times.compare(here, there)
        self.assertEqual(differences, [("b", 2, 1), ("old", 0, 1), ("new", 1, 0)])
        self.assertEqual(times, [(5.0, 5.5, "a")])

    def test_a_trace_gives_what_the_gpu_did_in_its_order(self):
        events = [{"ph": "X", "cat": "kernel", "name": "second", "ts": 20.0, "dur": 3.0},
                  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "ts": 10.0, "dur": 1.0},
                  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5.0, "dur": 2.0},
                  {"ph": "X", "cat": "kernel", "name": "at::cuda::spin_kernel(long)", "ts": 1.0, "dur": 9.0},
                  {"ph": "f", "cat": "ac2g", "name": "ac2g", "ts": 20.0}]
        kernels = record_kernels.kernels_of({"traceEvents": events})
        self.assertEqual([(name, kernel["med"]) for name, kernel in kernels.items()],
                         [("Memset (Device)", 1.0), ("second", 3.0)])


class Comparisons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.reference = pathlib.Path(folder.name) / "reference.json"
        self.output = pathlib.Path(folder.name) / "output.json"
        runs.write_reference(self.reference)

    def test_processes_are_compared_with_the_file_and_with_one_another(self):
        status, printed, said = runs.run("repeat_reference.py", self.reference, STAND_IN_STEP="0.015")
        self.assertEqual((status, said), (0, ""))
        rows = runs.table_rows(printed)
        # Process 3 is 3 % longer than the first; of a memset of 0.8 µs that is less than a tick.
        self.assertEqual(rows["process 2 against the file"], ["1 of 1", "5 of 5 (100.0%)", "0", "0"])
        self.assertEqual(rows["process 3 against process 1"], ["1 of 1", "0 of 5 (0.0%)", "1", "4"])
        self.assertEqual(rows["process 3 against process 2"], ["1 of 1", "5 of 5 (100.0%)", "0", "0"])
        self.assertEqual(rows["gemm_fprop"][1:], ["100.00", "100.00", "101.50", "103.00", "1.030"])
        self.assertNotIn("Memset (Device)", rows)

    def test_other_kernels_are_said_and_end_with_1(self):
        runs.write_reference(self.reference, gemm_wgrad=(24, 80.0), gone=(12, 1.0))
        status, printed, _ = runs.run("repeat_reference.py", "--processes", 1, self.reference)
        self.assertEqual(status, 1)
        self.assertIn("- process 1 against the file: case 1: gemm_wgrad: 1 launches against 2\n", printed)
        self.assertIn("- process 1 against the file: case 1: gone: 0 launches against 1\n", printed)
        self.assertEqual(runs.table_rows(printed)["process 1 against the file"][:2], ["0 of 1", "4 of 4 (100.0%)"])

    def test_the_reverse_order_is_one_more_process(self):
        document = json.loads(self.reference.read_text(encoding="utf-8"))
        document["layers"].append(json.loads(json.dumps(document["layers"][0])))
        document["layers"][1]["conv"][1] = 32
        self.reference.write_text(json.dumps(document), encoding="utf-8")
        status, printed, _ = runs.run("repeat_reference.py", "--processes", 1, "--reverse", self.reference)
        self.assertEqual(status, 0)
        self.assertEqual(runs.table_rows(printed)["reverse order against process 1"][0], "2 of 2")

    def test_what_is_kept_is_a_file_of_reference_of_the_first_process(self):
        runs.write_reference(self.reference, gemm_fprop=(12, 90.0))
        runs.run("repeat_reference.py", self.reference, "--output", self.output, STAND_IN_STEP="0.5")
        kept, reference = (json.loads(path.read_text(encoding="utf-8")) for path in (self.output, self.reference))
        self.assertEqual(kept["layers"][0]["kernels"]["gemm_fprop"], {"n": 12, "med": 100.0, "min": 100.0, "max": 100.0})
        self.assertEqual(kept["gpu"], "stand-in GPU")
        for document in kept, reference:
            document["layers"][0].pop("kernels")
        self.assertEqual(kept["layers"], reference["layers"])
        status, printed, _ = runs.run("compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.output)
        self.assertEqual(status, 0)
        rows = runs.table_rows(printed)
        self.assertEqual(rows["kernels within 2 % of the reference"], ["3 (60.0%)", "5"])
        self.assertEqual(rows["further off, but by no more than 0.033 µs, one tick of CUPTI's clock"], ["1", "5"])
        self.assertEqual(rows["gemm_dgrad"], ["[32, 3, 224, 224]→64 float16", "53.00", "50.00", "1.060", "1850", "–"])

    def test_jitterscope_that_runs_other_kernels_ends_with_1(self):
        runs.write_reference(self.reference, gemm_wgrad=(24, 80.0), gone=(12, 1.0))
        status, printed, _ = runs.run("compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.reference)
        self.assertEqual(status, 1)
        self.assertIn("torch.float16: gemm_wgrad: 1 launches, PyTorch 2\n", printed)
        self.assertIn("torch.float16: gone: 0 launches, PyTorch 1\n", printed)

    def test_the_clock_is_that_of_a_spin_of_known_cycles(self):
        status, printed, _ = runs.run("record_kernels.py", "--clock", "--full-queue", self.reference)
        self.assertEqual(status, 0)
        case = json.loads(printed)["layers"][0]
        self.assertAlmostEqual(case["clock_mhz"], 1900.0)
        self.assertFalse([name for name in case["kernels"] if "spin" in name])
        self.output.write_text(printed, encoding="utf-8")
        _, compared, _ = runs.run("compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.output)
        self.assertEqual(runs.table_rows(compared)["gemm_dgrad"][-2:], ["1850", "1900"])
        self.assertNotIn("clock_mhz", runs.run("record_kernels.py", "--full-queue", self.reference)[1])

    def test_a_time_that_other_memory_explains_is_called_reached(self):
        runs.write_reference(self.reference, gemm_wgrad=(12, 60.0))
        command = ["compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.reference]
        status, printed, _ = runs.run(*command, "--placements", 2)
        self.assertEqual(status, 0)
        rows = runs.table_rows(printed)
        # In placement 1 all takes 4 % less, which is more than a tick but for the memset.
        self.assertEqual(rows["placement 1 against 0"], ["0 of 5 (0.0%)", "1", "4"])
        self.assertEqual(rows["further off, but reached in one of 2 placements or between them"], ["1", "5"])
        self.assertEqual(rows["gemm_dgrad"][1:5], ["53.00", "50.88 to 53.00", "50.00", "1.060"])
        self.assertEqual(rows["gemm_wgrad"][1:4], ["80.00", "76.80 to 80.00", "60.00"])
        self.assertNotIn("placement", runs.run(*command)[1])

    def test_too_few_passes_are_not_compared(self):
        status, printed, said = runs.run("compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.reference,
                                         STAND_IN_PASSES="1")
        self.assertEqual((status, printed), (3, ""))
        self.assertIn("float16: 1 of 12 passes ran", said)

    def test_several_references_are_compared_with_the_same_runs(self):
        runs.write_reference(self.output, gemm_fprop=(12, 150.0))
        command = ["compare_kernels.py", "--jitterscope", runs.JITTERSCOPE, self.reference, self.output]
        status, printed, _ = runs.run(*command)
        self.assertEqual(status, 0)
        first, second = printed.split("**output.json**")
        self.assertTrue(first.startswith("**reference.json**"))
        self.assertNotIn("gemm_fprop", first)
        self.assertEqual(runs.table_rows(second)["gemm_fprop"][2], "150.00")
        document = json.loads(self.output.read_text(encoding="utf-8"))
        document["layers"][0]["conv"][1] = 32
        self.output.write_text(json.dumps(document), encoding="utf-8")
        status, printed, said = runs.run(*command)
        self.assertEqual((status, printed), (3, ""))
        self.assertIn("output.json holds other cases than", said)

    def test_without_pytorch_a_gpu_or_a_file_nothing_is_compared(self):
        for lacks, reason in (("torch", "pip install torch"), ("gpu", "PyTorch sees no GPU")):
            status, printed, said = runs.run("repeat_reference.py", self.reference, STAND_IN_LACKS=lacks)
            self.assertEqual((status, printed), (3, ""))
            self.assertIn(reason, said)
            layers = runs.run("record_layers.py", "rows", "--output", self.output.parent, STAND_IN_LACKS=lacks)
            self.assertEqual(layers[:2], (3, ""))
            self.assertIn(reason, layers[2])
        self.assertEqual(runs.run("record_layers.py", "cakes", "--output", self.output.parent)[0], 2)
        self.assertEqual(runs.run("repeat_reference.py", self.output)[0], 3)
        self.assertEqual(runs.run("repeat_reference.py", "--processes", 0, self.reference)[0], 2)


if __name__ == "__main__":
    unittest.main()
