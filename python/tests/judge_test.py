"""js.judge: what it takes, and what it gives of a verdict that does not depend on how busy the machine is."""

import pathlib
import tempfile
import unittest

import jitterscope as js

REFERENCE = """from array import array
def function(x):
    return array("d" if memoryview(x).format == "d" else "f", [2.0 * value for value in x])
def make(n=16):
    return function, [n]
"""
CANDIDATES = """from array import array
def right(n=16):
    return lambda x: array("f", [value + value for value in x])
def wrong(n=16):
    return lambda x: array("f", x)
"""


class Judge(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        place = pathlib.Path(self.folder.name)
        (place / "reference.py").write_text(REFERENCE, encoding="utf-8")
        (place / "candidates.py").write_text(CANDIDATES, encoding="utf-8")
        self.reference, self.candidates = str(place / "reference.py"), str(place / "candidates.py")

    def test_a_wrong_candidate_has_evidence_and_no_ratio(self):
        judged = js.judge(self.reference, self.candidates + ":wrong", cases={"n": [8, 16]}, quick=True)
        self.assertEqual(judged.verdict, "wrong")
        self.assertIn("is right", judged.evidence)
        self.assertEqual([case["case"]["n"] for case in judged.record["candidates"][0]["cases"]], ["8", "16"])
        with self.assertRaisesRegex(js.UsageError, "wrong"):
            _ = judged.ratio

    def test_a_right_candidate_is_neither_wrong_nor_invalid(self):
        judged = js.judge(self.reference, self.candidates + ":right", processes=2, quick=True)
        self.assertIn(judged.verdict, ("faster", "slower", "same", "undecided"))
        self.assertGreater(judged.record["candidates"][0]["cases"][0]["links_checked"], 0)

    def test_what_cannot_be_judged(self):
        with self.assertRaisesRegex(js.UsageError, "at least one candidate"):
            js.judge(self.reference)
        with self.assertRaisesRegex(js.UsageError, "FILE.py:make"):
            js.judge(self.reference, lambda: None)
        with self.assertRaisesRegex(js.UsageError, "does not exist"):
            js.judge(self.reference, "nothing.py")


if __name__ == "__main__":
    unittest.main()
