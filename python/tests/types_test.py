"""The types of the package and of a program that uses it hold: mypy --strict has nothing to say."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRONG = """import jitterscope as js
time = js.measure(lambda: 1, device=3)
length: str = time.median
"""


def mypy(*paths):
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, paths)],
                              capture_output=True, text=True, check=False, cwd=ROOT,
                              env={**os.environ, "MYPYPATH": str(ROOT / "python")})


class Types(unittest.TestCase):
    def test_package_and_example(self):
        done = mypy("-p", "jitterscope")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = mypy(ROOT / "examples" / "measure_callables.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_of_a_program_are_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(WRONG)
            file.flush()
            done = mypy(file.name)
        self.assertEqual(done.stdout.count(" error:"), 2, done.stdout)


if __name__ == "__main__":
    unittest.main()
