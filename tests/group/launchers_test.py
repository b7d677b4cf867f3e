"""The tool under real launchers. usage: launchers_test.py TOOL"""

import os
import signal
import sys
import tempfile
import unittest

from ranks_of_this_host import LONG, QUICK, Job, launchers, record_in

TOOL = sys.argv.pop(1)


def times_in(record):
    return [[(gpu["time"], gpu["against_others"]) for gpu in beside["devices"]]
            for comparison in record["comparisons"] for beside in comparison["beside"]]


class UnderLaunchers(unittest.TestCase):
    def each(self, count, words):
        for name, command in launchers(TOOL, count, words).items():
            with self.subTest(launcher=name):
                yield Job(command)

    def test_all_ranks_measure_and_one_speaks(self):
        for count in (2, 4, 16):
            seen = []
            for job in self.each(count, ["run", *QUICK, "--json", "-"]):
                code, output, errors = job.end()
                self.assertEqual(code, 0, errors)
                record = record_in(output)  # and nothing else on standard output
                self.assertEqual(len(record["devices"]), count)
                self.assertEqual(record["lost"], [])
                seen.append(times_in(record))
            self.assertEqual(seen, seen[:1] * len(seen), "whoever starts them, the simulated times are the same")

    def test_an_error_of_usage_ends_all_with_its_code(self):
        for job in self.each(2, ["run", "relu:count=none", "--device", "virtual:h200"]):
            code, _, errors = job.end()
            self.assertEqual(code, 2, errors)
            self.assertEqual(errors.count("jitterscope: "), 1, errors)

    def test_the_cpu_is_no_device_for_ranks(self):
        for job in self.each(2, ["run", "relu:count=1Mi", "--device", "cpu"]):
            code, _, errors = job.end()
            self.assertEqual(code, 2, errors)
            self.assertIn("ranks would share this host's CPU", errors)

    def test_a_killed_worker_costs_its_ranks_data_alone(self):
        for job in self.each(3, ["run", *LONG, "--json", "-"]):
            workers = job.wait_for("worker", 3)
            os.kill(workers[1], signal.SIGKILL)
            for worker in job.wait_for("worker", 1):  # the next are alone: rank 0's
                pass
            os.kill(job.processes("run")[0], signal.SIGINT)
            code, output, errors = job.end()
            self.assertEqual(code, 130, errors)
            self.assertRegex(" ".join(record_in(output)["lost"]), r"all at once: rank \d \(.*has ended")

    def test_signals_leave_what_there_is_marked(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for job in self.each(2, ["run", *LONG, "--json", "-"]):
                job.wait_for("worker", 2)
                # The one whose parent is no other rank is rank 0: it came first.
                os.kill(job.processes("run")[0], number)
                code, output, errors = job.end()
                self.assertEqual(code, 130, errors)
                self.assertTrue(record_in(output)["interrupted"])

    def test_other_commands_are_rank_zeros(self):
        for name, command in launchers(TOOL, 2, ["list", "operations"]).items():
            if name == "--local":
                continue
            code, output, errors = Job(command).end()
            self.assertEqual(code, 0)
            self.assertIn("rank 0 alone carries it out", errors)
            alone = Job([TOOL, "list", "operations"]).end()[1]
            self.assertEqual(output, alone, "once, not twice")

    def test_ranks_without_a_launchers_help_meet_in_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            jobs = [Job([TOOL, "run", *QUICK, "--json", "-"], RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank),
                        JITTERSCOPE_RENDEZVOUS=f"file:{folder}") for rank in (0, 1)]
            code, output, errors = jobs[0].end()
            self.assertEqual(code, 0, errors)
            self.assertEqual(len(record_in(output)["devices"]), 2)
            self.assertEqual(jobs[1].end(), (0, "", ""))
            self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
