"""The pieces: processes, traces, texts of operations, verdicts."""

import os
import subprocess
import sys
import time
import unittest

import fakes
import jitterscope_runs
import kernel_trace
import peers
import problems
import processes
import tables
from parts import power_cap, precision_time, ranges, version_time


def python(code, limit_seconds=20, accepted=(0,)):
    return processes.run([sys.executable, "-c", code], limit_seconds, accepted)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rsplit(")", 1)[1].split()[0] != "Z"


class Processes(unittest.TestCase):
    def test_output_and_status_are_kept(self):
        finished = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(4)", accepted=(0, 4))
        self.assertEqual((finished.status, finished.stdout, finished.stderr), (4, "out\n", "err\n"))

    def test_memory_is_that_of_the_process(self):
        held = b"x" * 200_000_000  # of this process: it must not count
        small = python("import time; time.sleep(0.3)").peak_memory_bytes
        large = python("held = b'x' * 100_000_000; import time; time.sleep(0.3)")
        self.assertLess(small, 100e6)
        self.assertGreater(large.peak_memory_bytes, 100e6)
        self.assertGreater(large.memory_bytes["RssAnon"], 100e6)
        del held

    def test_another_status_is_a_failure_with_the_end_of_stderr(self):
        code = "import sys; sys.stderr.write('x' * 9000 + 'why'); sys.exit(3)"
        with self.assertRaisesRegex(processes.ProcessFailed, "ended with 3; stderr: …x+why$") as failed:
            python(code)
        self.assertLess(len(str(failed.exception)), 1000)

    def test_a_process_that_hangs_is_ended_with_its_children(self):
        code = ("import signal, subprocess, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
                "child = subprocess.Popen(['sleep', '60']); print(child.pid, file=sys.stderr, flush=True); child.wait()")
        with self.assertRaisesRegex(processes.ProcessFailed, "was ended after 1 s") as failed:
            python(code, limit_seconds=1)
        child = int(str(failed.exception).rsplit(" ", 1)[1])
        until = time.monotonic() + 10
        while is_running(child) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse(is_running(child))

    def test_a_program_that_is_not_there_is_a_failure(self):
        with self.assertRaisesRegex(processes.ProcessFailed, "cannot be started: No such file"):
            processes.run(["/nonexistent/jitterscope"], 1)


def event(start, duration, category="kernel", name="k"):
    return {"ph": "X", "cat": category, "ts": start, "dur": duration, "name": name}


class KernelTrace(unittest.TestCase):
    def test_one_kernel_for_each_launch(self):
        trace = {"traceEvents": [event(20, 1.632), event(10, 1.6), event(0, 5, "cuda_runtime"),
                                 {"ph": "s", "cat": "kernel"}]}
        times = kernel_trace.launch_times(trace, 2)
        self.assertEqual([round(each * 1e9) for each in times], [1600, 1632])

    def test_several_kernels_of_a_launch_last_from_first_to_last(self):
        trace = {"traceEvents": [event(0, 1), event(2, 3), event(10, 1, "gpu_memcpy"), event(12, 4)]}
        times = kernel_trace.launch_times(trace, 2)
        self.assertEqual([round(each * 1e9) for each in times], [5000, 6000])

    def test_lost_kernels_are_no_times(self):
        with self.assertRaisesRegex(ValueError, "holds 3 kernels"):
            kernel_trace.launch_times({"traceEvents": [event(each, 1) for each in range(3)]}, 2)
        with self.assertRaisesRegex(ValueError, "holds 0 kernels"):
            kernel_trace.launch_times({"traceEvents": []}, 2)


class Texts(unittest.TestCase):
    def test_spin_operations_are_read_back(self):
        self.assertEqual(jitterscope_runs.spin_of("spin:ns=1000"), (1000, 1))
        self.assertEqual(jitterscope_runs.spin_of("spin:ns=50000,blocks=1056"), (50000, 1056))
        self.assertEqual(problems.spin_of_name(problems.spin_name(2000, 132)), (2000, 132))
        self.assertIsNone(problems.spin_of_name("copy_1gib"))

    def test_cells_cannot_break_a_table(self):
        self.assertEqual(tables.table(["a", "b"], [["x|y", "two\nlines"]]),
                         "| a | b |\n| --- | --: |\n| x\\|y | two lines |")

    def test_times_show_a_tenth_of_the_target(self):
        self.assertEqual([tables.time_text(each * 1e-6) for each in (1.1842, 12.3456, 128.04, 1368.81)],
                         ["1.1842", "12.346", "128.04", "1368.8"])


class Verdicts(unittest.TestCase):
    def test_range_is_from_least_to_most_over_the_median(self):
        self.assertAlmostEqual(ranges.range_of([99.0, 100.0, 101.0]), 0.02)
        self.assertIsNone(ranges.range_of([99.0]))

    def test_a_wide_range_misses_the_target_however_few_the_processes(self):
        processes_of = [{"tool": "jitterscope", "repetition": each, "times": {"gemm_512": {"seconds": seconds}}}
                        for each, seconds in enumerate((1.0, 1.003))]
        row = ranges.row_of({"wanted": 2, "processes": processes_of}, problems.PROBLEMS[0], "at most 0.2 %")
        self.assertIs(row.met, False)

    def test_time_to_precision_needs_both(self):
        self.assertTrue(precision_time.is_met({"duration_seconds": 0.7, "precision": 0.005}))
        for duration, precision in ((0.71, 0.001), (0.1, 0.006), (0.1, None)):
            self.assertFalse(precision_time.is_met({"duration_seconds": duration, "precision": precision}))

    def test_only_a_finding_with_both_clocks_and_the_cause_counts(self):
        evidence = {"burst_clock_hz": "1", "sustained_clock_hz": "2", "cause_known": "true"}
        self.assertTrue(power_cap.names_both_clocks({"evidence": evidence}))
        self.assertFalse(power_cap.names_both_clocks({"evidence": evidence | {"cause_known": "false"}}))
        self.assertFalse(power_cap.names_both_clocks({"evidence": {"burst_clock_hz": "1", "cause_known": "true"}}))

    def test_version_time_is_judged_by_its_median(self):
        self.assertTrue(version_time.rows({"seconds": [0.5, 0.01, 0.01], "floor_seconds": [0.001]})[0].met)
        self.assertFalse(version_time.rows({"seconds": [0.021, 0.021, 0.01], "floor_seconds": [0.001]})[0].met)


class Peers(unittest.TestCase):
    def test_a_problem_that_fails_leaves_the_others(self):
        def tool(work):
            if work == "bad":
                raise RuntimeError("first line\nsecond line")
            return {"seconds": 1.0}
        times = peers.time_problems(tool, ["good", "bad", "fine"], lambda name: name)
        self.assertEqual(times["bad"]["failed"], "RuntimeError: first line")
        self.assertEqual([times[name].get("seconds") for name in ("good", "fine")], [1.0, 1.0])

    def test_everything_is_importable_without_torch(self):
        code = ("import sys; sys.modules.update(dict.fromkeys(('torch', 'triton', 'cupy', 'numpy'))); "
                "import measure_targets, peers, torch_work")
        subprocess.run([sys.executable, "-c", code], cwd=fakes.FOLDER.parent, check=True)


if __name__ == "__main__":
    unittest.main()
