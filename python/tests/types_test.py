"""The types of the package and of a program that uses it hold: mypy --strict has nothing to say."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WRONG = """import jitterscope as js
time = js.measure(lambda: 1, device=3)
length: str = time.median
"""


def snippets(guide):
    """Those that run as they are; the others lack what they say they lack."""
    text = (ROOT / "docs" / "guide" / guide).read_text(encoding="utf-8")
    return re.findall(r"(?<!-->\n)```python\n(.*?)```", text, re.DOTALL)


def mypy(*words):
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, words)],
                              capture_output=True, text=True, check=False, cwd=ROOT,
                              env={**os.environ, "MYPYPATH": str(ROOT / "python")})


class Types(unittest.TestCase):
    def test_package_and_example(self):
        done = mypy("-p", "jitterscope")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = mypy(ROOT / "examples" / "measure_callables.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_the_guide_shows(self):
        found = [text for guide in ("python.md", "notebooks.md") for text in snippets(guide)]
        self.assertGreater(len(found), 5)
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / f"snippet_{number}.py" for number in range(len(found))]
            for file, text in zip(files, found):
                file.write_text(text, encoding="utf-8")
            # Functions of an example say what they do, and not which types they take.
            done = mypy("--allow-untyped-defs", "--allow-untyped-calls", *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_network_and_a_sweep(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("import jitterscope as js\n"
                       "seconds: float = js.run('resnet18').total.seconds\n"
                       "result = js.run('add:count=1,2')\n"
                       "assert isinstance(result, js.Times)\n"
                       "medians: list[float] = [time.median for time in result]\n"
                       "kernel: js.Time = js.Kernel('a.cu', 'f', grid=1, block=1).measure()\n")
            file.flush()
            done = mypy(file.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_of_a_program_are_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(WRONG)
            file.flush()
            done = mypy(file.name)
        self.assertEqual(done.stdout.count(" error:"), 2, done.stdout)


if __name__ == "__main__":
    unittest.main()
