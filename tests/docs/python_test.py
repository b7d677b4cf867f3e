"""Each Python block of the README and of docs/ runs as it stands. One that cannot says so by <!-- not run: reason -->."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from markdown_blocks import blocks_of

ROOT = pathlib.Path(__file__).resolve().parents[2]


def problem_of(block):
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([sys.executable, "-B", "-"], input=block.text(), cwd=folder, capture_output=True, text=True,
                             check=False, timeout=120)
    return None if run.returncode == 0 else f"{block.place}: {run.stderr.strip()[-600:]}"


def python_blocks(name, text):
    return [block for block in blocks_of(name, text) if block.language == "python" and not block.not_run]


class Readme(unittest.TestCase):
    def test_a_picture_and_python_stand_on_its_first_screen(self):
        lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
        self.assertLessEqual(len(lines), 120)
        first = "\n".join(lines[:next(number for number, line in enumerate(lines) if line.startswith("## "))])
        self.assertIn("```python\nimport jitterscope as js\n", first)
        picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", first).group(1)
        self.assertIn("<svg", (ROOT / picture).read_text(encoding="utf-8"))


class Pages(unittest.TestCase):
    def test_every_block_runs(self):
        blocks = [block for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
                  for block in python_blocks(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))]
        self.assertGreaterEqual(len(blocks), 3)
        problems = [problem for problem in map(problem_of, blocks) if problem]
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_a_block_that_fails_is_found(self):
        (block,) = python_blocks("page.md", "```python\nimport no_such_module\n```\n")
        self.assertIn("no_such_module", problem_of(block))
        self.assertEqual(python_blocks("page.md", "<!-- not run: a reason -->\n```python\noops(\n```\n"), [])


if __name__ == "__main__":
    unittest.main()
