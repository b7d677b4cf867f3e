"""The tool under real launchers. usage: launchers_test.py TOOL"""

import os
import signal
import socket
import sys
import tempfile
import unittest

from ranks_of_this_host import LONG, QUICK, Job, launchers, record_in

TOOL = sys.argv.pop(1)


def free_port():
    """Below those that the system gives out, so that nobody takes it in between."""
    with socket.socket() as probe:
        for port in range(15000 + os.getpid() % 5000, 32000):
            try:
                probe.bind(("", port))
                return port
            except OSError:
                continue
    raise AssertionError("no port is free")


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

    def ranks_of_torchrun(self, words, **environment):
        """Two ranks as torchrun starts them, each a job of its own."""
        return [Job([TOOL, *words], RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), **environment)
                for rank in (0, 1)]

    def test_a_full_disk_of_rank_zero_costs_its_file_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["run", *QUICK, "--json", os.path.join(folder, "r.json")]
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port() - 1), "WORLD_SIZE": "2",
                       "JITTERSCOPE_JOB_TOKEN": "7" * 32}
            # As on a disk without room: its files may not grow.
            full = Job(["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh", TOOL, *words], RANK="0",
                       LOCAL_RANK="0", **meeting)
            other = Job([TOOL, *words], RANK="1", LOCAL_RANK="1", **meeting)
            code, output, errors = full.end()
            self.assertEqual(code, 5, errors)
            self.assertRegex(errors, r"r\.json.*File too large")
            self.assertIn("virtual:h200 (2)", output, "what all ranks measured is printed")
            self.assertEqual(other.end(), (0, "", ""))
            self.assertEqual(os.listdir(folder), [])

    def test_a_full_disk_of_another_rank_costs_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ["run", *QUICK, "--rendezvous", f"file:{folder}", "--json", "-"]
            job = Job([TOOL, *words], RANK="0", WORLD_SIZE="2", LOCAL_RANK="0")
            full = Job(["sh", "-c", 'exec "$@" >/dev/full 2>/dev/full', "sh", TOOL, *words], RANK="1", WORLD_SIZE="2",
                       LOCAL_RANK="1")
            code, output, errors = job.end()
            self.assertEqual(code, 0, errors)
            self.assertEqual(len(record_in(output)["devices"]), 2)
            self.assertEqual(full.end(), (0, "", ""))

    def test_a_flag_says_where_ranks_meet(self):
        with tempfile.TemporaryDirectory() as folder:
            place = f"file:{folder}"
            for flag in ([f"--rendezvous={place}"], ["--rendezvous", place]):
                with self.subTest(flag=flag):
                    jobs = self.ranks_of_torchrun(["run", *QUICK, *flag, "--json", "-"],
                                                  JITTERSCOPE_RENDEZVOUS="pigeon")
                    code, output, errors = jobs[0].end()
                    self.assertEqual(code, 0, errors)
                    self.assertEqual(len(record_in(output)["devices"]), 2)
                    self.assertEqual(jobs[1].end(), (0, "", ""))

    def test_ranks_of_torchrun_meet_beside_its_port(self):
        jobs = self.ranks_of_torchrun(["run", *QUICK, "--json", "-"], MASTER_ADDR="127.0.0.1",
                                      MASTER_PORT=str(free_port() - 1), JITTERSCOPE_JOB_TOKEN="7" * 32)
        code, output, errors = jobs[0].end()
        self.assertEqual(code, 0, errors)
        self.assertEqual(len(record_in(output)["devices"]), 2)
        self.assertEqual(jobs[1].end(), (0, "", ""))

    def test_ranks_of_slurm_meet_on_its_first_node(self):
        with open("/proc/sys/kernel/random/uuid") as file:
            job = int(file.read()[:7], 16)  # so that the port is another one each time
        jobs = [Job([TOOL, "run", *QUICK, "--json", "-"], SLURM_PROCID=str(rank), SLURM_STEP_NUM_TASKS="2",
                    SLURM_LOCALID=str(rank), SLURM_JOB_ID=str(job), SLURM_STEP_ID="0",
                    SLURM_STEP_NODELIST="localhost,n[1-2]", JITTERSCOPE_JOB_TOKEN="7" * 32) for rank in (0, 1)]
        code, output, errors = jobs[0].end()
        self.assertEqual(code, 0, errors)
        self.assertEqual(len(record_in(output)["devices"]), 2)
        self.assertEqual(jobs[1].end(), (0, "", ""))

    def test_a_wrong_place_ends_rank_zero_alone_with_an_error(self):
        jobs = self.ranks_of_torchrun(["run", *QUICK, "--rendezvous", "pigeon"])
        code, _, errors = jobs[0].end()
        self.assertEqual(code, 2, errors)
        self.assertIn("--rendezvous pigeon: file:FOLDER", errors)
        code, _, errors = jobs[1].end()
        self.assertEqual(code, 0, "launchers end all ranks when one ends with an error")
        self.assertIn("rank 1: --rendezvous pigeon", errors)

    def test_a_place_to_meet_needs_a_launcher(self):
        code, _, errors = Job([TOOL, "run", *QUICK, "--rendezvous", "file:/tmp"]).end()
        self.assertEqual(code, 2, errors)
        self.assertIn("no launcher has said which rank this is", errors)
        code, _, errors = Job([TOOL, "run", *QUICK, "--rendezvous", "file:/tmp", "--local", "2"]).end()
        self.assertEqual(code, 2, errors)
        self.assertIn("--local", errors)

    def test_settings_cannot_say_where_ranks_meet(self):
        with tempfile.TemporaryDirectory() as folder:
            settings = os.path.join(folder, "settings.toml")
            with open(settings, "w") as file:
                file.write('[run]\nrendezvous = "file:/tmp"\n')
            code, _, errors = Job([TOOL, "run", *QUICK, "--settings", settings]).end()
        self.assertEqual(code, 2, errors)
        self.assertIn("JITTERSCOPE_RENDEZVOUS", errors)

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
