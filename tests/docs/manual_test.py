"""The manual page: groff has nothing to say against it, and man and apropos find its name and every command."""

import os
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
PAGE = subprocess.run([PROGRAM, "reference", "man"], capture_output=True, text=True, check=True).stdout


class Manual(unittest.TestCase):
    def test_groff_warns_of_nothing(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed (Debian's groff-base)")
        run = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-k", "-P-cbou"], input=PAGE, capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        for words in ["jitterscope - ", "--cache", "conv2d", "resnet50", "EXIT STATUS", "JITTERSCOPE_MODELS"]:
            self.assertIn(words, run.stdout)

    def test_a_bad_page_would_be_noticed(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed (Debian's groff-base)")
        run = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-k"], input=PAGE + ".nosuchrequest\n", capture_output=True,
                             text=True, check=False)
        self.assertIn("nosuchrequest", run.stderr)

    def test_what_is_typed_can_be_copied(self):
        # A bare minus or quote would be printed as a hyphen or a curved quote.
        for line in PAGE.splitlines():
            text = line if not line.startswith(".") else ""
            self.assertNotRegex(text, r"(?<!\\)-", line)
            self.assertNotRegex(text, r"['`^~]", line)

    def test_lexgrog_finds_name_and_purpose(self):
        if not shutil.which("lexgrog"):
            self.skipTest("lexgrog is not installed (Debian's man-db)")
        with tempfile.NamedTemporaryFile("w", suffix=".1") as file:
            file.write(PAGE)
            file.flush()
            run = subprocess.run(["lexgrog", file.name], capture_output=True, text=True, check=False)
        self.assertIn('"jitterscope - ', run.stdout)


if __name__ == "__main__":
    unittest.main()
