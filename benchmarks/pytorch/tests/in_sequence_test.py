"""A network's convolutions in sequence against PyTorch's training, in one process and in several."""

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

    def test_backward_compares_both_gradients_of_a_convolution_together(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, "--pass", "backward")
        rows = runs.table_rows(printed)
        self.assertIn("backward, batch 64", printed)
        self.assertEqual([name for name in rows if name.startswith("layer")],
                         ["layer2.dgrad, wgrad", "layer1.dgrad, wgrad", "layer0.dgrad, wgrad"])
        self.assertEqual(rows["layer1.dgrad, wgrad"], ["60.00", "yes", "61.20", "+2.0%", *["59.20"] * 4])

    def test_each_placement_has_a_row_of_errors(self):
        _, printed, _ = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE, "--placements", 2)
        rows = runs.table_rows(printed)
        self.assertEqual(rows["in sequence, each call when the one before has ended"], ["+1.00%", "2.00%", "2.00%"])
        self.assertEqual(rows["in sequence, each call when the one before has ended, in placement 1"],
                         ["-3.04%", "3.04%", "5.92%"])
        self.assertEqual(rows["in sequence, each as in PyTorch's run, in placement 1"], ["-3.04%", "3.04%", "5.92%"])

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
        kernels = [(100.0, 110.0), (125.0, 130.0)]
        self.assertEqual(record_training.together(kernels), 15.0)
        self.assertEqual(record_training.span(kernels), 30.0)

    def test_without_pytorch_or_a_gpu_nothing_is_compared(self):
        for lacks, reason in (("torch", "pip install torch"), ("gpu", "PyTorch sees no GPU")):
            status, printed, said = runs.run("compare_in_sequence.py", "--jitterscope", runs.JITTERSCOPE,
                                             STAND_IN_LACKS=lacks)
            self.assertEqual((status, printed), (3, ""))
            self.assertIn(reason, said)


if __name__ == "__main__":
    unittest.main()
