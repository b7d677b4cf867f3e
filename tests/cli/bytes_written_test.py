"""A long run's journal grows by what is new: bytes written in all against the file's. usage: bytes_written_test.py PROGRAM [OPERATIONS]"""

import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    operations = [f"add:count={1000 + number}" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "r.json"
        run = subprocess.Popen([program, "run", *operations, "--device", "virtual:quiet", "--cache", "warm", "--load", "burst",
                                "--json", str(path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        counters = dict(line.split(": ") for line in pathlib.Path(f"/proc/{run.pid}/io").read_text().splitlines())
        if run.wait() != 0:
            sys.exit(f"the run ended with {run.returncode}")
        size, written = path.stat().st_size, int(counters["wchar"])
    print(f"{count} operations: a file of {size} bytes, {written} bytes written, {written / size:.2f} times as many")
    if written > 3 * size:
        sys.exit("more than three times the file: something is written anew with each operation")


if __name__ == "__main__":
    main()
