"""Kills and stops processes of a job at random moments: nothing hangs, nothing is left, and what the other ranks
measured stays whole. usage: kills_test.py TOOL [--kills COUNT] [--seed SEED]"""

import argparse
import json
import os
import random
import signal
import time

from ranks_of_this_host import Job, launchers, record_in

WORK = ["run", "relu:count=1Mi", "--device", "virtual:h200", "--cache", "warm", "--processes", "3", "--time-limit", "4",
        "--precision", "0.0001", "--min-rounds", "300", "--json", "-"]
RANKS = 3


def try_once(tool, chance):
    """Kills one process and returns what it was, and whether a record came."""
    name, command = chance.choice(sorted(launchers(tool, RANKS, WORK).items()))
    kind = chance.choice(["worker", "worker", "run"])
    job = Job(command)
    job.wait_for("worker", 1)
    time.sleep(chance.uniform(0.0, 0.5))
    candidates = job.processes(kind)
    if not candidates:
        job.end()
        return f"{name}: too late for a {kind}", True
    victim = chance.choice(candidates)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass
    code, output, errors = job.end()  # fails if it hangs or leaves a process
    what = f"{name}: {kind} killed, exit code {code}"
    # A launcher ends the job with an agent or rank 0, as it should; a worker is the group's own affair.
    if kind == "worker":
        assert code in (0, 5), f"{what}: {errors}"
        record = record_in(output)
        assert record["lost"] or code == 0, f"{what}: nobody is named"
        assert all(len(beside["devices"]) >= 2 for comparison in record["comparisons"]
                   for beside in comparison["beside"]), what
        assert len(record["devices"]) >= RANKS - 1, f"{what}: others' data are gone: {record['lost']}"
    elif output.startswith("{"):
        json.JSONDecoder().raw_decode(output)  # MPICH's words on the rank that was killed may follow
    return what, output.startswith("{")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    records = 0
    for number in range(arguments.kills):
        what, has_record = try_once(arguments.tool, chance)
        records += has_record
        print(f"{number + 1}/{arguments.kills} {what}", flush=True)
    print(f"{arguments.kills} kills: none hung, no process was left, {records} wrote a record")


if __name__ == "__main__":
    main()
