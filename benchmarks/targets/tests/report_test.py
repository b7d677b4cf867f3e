"""The whole call on fakes: every row is there, and a failure costs its own row only."""

import json
import unittest

import jsonschema

import fake_jitterscope
import fakes

SCHEMA = fakes.FOLDER.parents[2] / "docs" / "record.schema.json"


def documents_in(raw):
    import report
    return list(report.documents_of(raw["parts"]))


class WholeCall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.status, cls.raw, cls.markdown, cls.printed = fakes.measure()
        cls.rows = fakes.summary(cls.markdown)

    def test_every_part_is_measured_and_the_tables_are_printed(self):
        self.assertEqual(self.status, 0)
        self.assertEqual(set(self.raw["parts"]), {"version", "spin", "precision", "sustained", "resnet50", "ranges"})
        self.assertTrue(self.printed.rstrip().endswith(self.markdown.rstrip()))

    def test_the_fake_writes_what_the_schema_allows(self):
        schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
        documents = documents_in(self.raw)
        self.assertEqual(len(documents), 2 + 6 + 5 + 1 + 1)
        for document in documents:
            jsonschema.Draft202012Validator(schema).validate(document)

    def test_bias_is_the_difference_of_the_two_times(self):
        measured, met = self.rows["bias against CUPTI, spin kernels (judge: torch.profiler)"]
        self.assertIn("at most 0.050 µs", measured)
        self.assertIn("15 of 15", measured)
        self.assertEqual(met, "yes")
        self.assertIn("| 10 | 1056 | 10.500 | 10.550 | +0.050 | +0.050 | +2.500 | +0.300 | +6.000 | +4.000 |",
                      self.markdown)

    def test_ranges_of_equal_times_are_zero(self):
        measured, met = self.rows["range over processes, add of 64 Ki f32"]
        self.assertTrue(measured.startswith("0.00 % over 6 processes"))
        self.assertEqual(met, "yes")

    def test_tools_take_turns_in_another_order_each_time(self):
        processes = self.raw["parts"]["ranges"]["processes"]
        turns = [[each["tool"] for each in processes if each["repetition"] == turn] for turn in range(6)]
        self.assertEqual({frozenset(turn) for turn in turns},
                         {frozenset(("jitterscope", "cupti", "do_bench", "do_bench_cudagraph", "torch_benchmark"))})
        self.assertEqual(len({turn[0] for turn in turns}), 5)

    def test_both_clocks_of_the_capped_gemm_are_told(self):
        measured, met = next(row for what, row in self.rows.items() if what.startswith("GEMM 8192³ bf16: burst"))
        self.assertEqual(measured, "burst 1368.8 µs at 1600 MHz; sustained 1574.1 µs at 1400 MHz; power_cap found")
        self.assertEqual(met, "yes")

    def test_what_and_where_is_told(self):
        for text in ("NVIDIA H200, 132 SMs, driver 580.1", "cudnn 9.19", "cupti not usable (not found)",
                     "PyTorch 2.11 (CUDA 13.0, cuDNN 91900), Triton 3.6", "measure_targets.py --jitterscope"):
            self.assertIn(text, self.markdown)


class Failures(unittest.TestCase):
    def test_a_failing_operation_leaves_the_others(self):
        status, _, markdown, _ = fakes.measure("--only", "precision,version", environment={"FAKE_FAILS": "copy"})
        rows = fakes.summary(markdown)
        measured, met = rows["time to ± 0.5 %, burst and warm, after the first call: copy of 1 GiB"]
        self.assertIn("ended with 5; stderr: jitterscope: the GPU fell off the bus", measured)
        self.assertEqual(met, "not measured")
        self.assertEqual(rows["time to ± 0.5 %, burst and warm, after the first call: add of 64 Ki f32"][1], "yes")
        self.assertEqual(status, 1)

    def test_a_result_that_failed_is_told_in_its_row(self):
        _, _, markdown, _ = fakes.measure("--only", "ranges,resnet50", environment={"FAKE_LACKS": "conv2d"})
        rows = fakes.summary(markdown)
        self.assertEqual(rows["range over processes, conv 3×3 64→64, 56², N 256, fp16 NHWC"],
                         ("failed: conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop: "
                          "out of memory", "not measured"))
        measured, met = rows["all layers of ResNet-50, three directions, burst, warm and cold"]
        self.assertIn("1 of them failed", measured)
        self.assertEqual(met, "not measured")

    def test_no_judge_means_no_verdict(self):
        status, _, markdown, _ = fakes.measure("--only", "spin", environment={"FAKE_TOOL_FAILS": "cupti"})
        rows = fakes.summary(markdown)
        measured, met = rows["bias against CUPTI, spin kernels (judge: torch.profiler)"]
        self.assertIn("RuntimeError: CUDA error: out of memory", measured)
        self.assertEqual(met, "not measured")
        self.assertEqual(rows["bias against CUPTI, spin kernels (judge: jitterscope --instrument cupti)"][1], "yes")
        self.assertEqual(status, 1)

    def test_peers_that_cannot_start_leave_jitterscopes_numbers(self):
        status, _, markdown, _ = fakes.measure("--only", "ranges", "--quick", peers=("/nonexistent/python3",))
        measured, met = fakes.summary(markdown)["range over processes, copy of 1 GiB"]
        self.assertEqual((measured, met), ("0.00 % over 2 processes", "not measured"))
        self.assertIn("others: unknown (/nonexistent/python3 cannot be started", markdown)
        self.assertEqual(status, 1)

    def test_no_time_left_is_told(self):
        _, raw, markdown, _ = fakes.measure("--only", "sustained", "--limit-seconds", "1")
        self.assertEqual(raw["parts"]["sustained"], {"failed": "no time was left in this call"})
        self.assertIn("failed: no time was left in this call", markdown)

    def test_an_empty_part_of_each_kind_makes_a_row(self):
        _, raw, markdown, _ = fakes.measure("--limit-seconds", "1")
        self.assertEqual(len(fakes.summary(markdown)), 1 + 2 + 5 + 5 + 2 + 1 + 1 + 1)  # with headings and rules

    def test_an_unknown_part_is_refused(self):
        with self.assertRaises(SystemExit) as ended:
            fakes.measure("--only", "spins")
        self.assertEqual(ended.exception.code, 2)


class FakeSweep(unittest.TestCase):
    def test_sweeps_expand_to_normal_forms(self):
        self.assertEqual(fake_jitterscope.expand("spin:ns=1000,2000,blocks=1,132,threads=32"),
                         ["spin:ns=1000", "spin:ns=1000,blocks=132", "spin:ns=2000", "spin:ns=2000,blocks=132"])


if __name__ == "__main__":
    unittest.main()
