"""js.judge: what it takes, and what it gives of a verdict that does not depend on how busy the machine is."""

import json
import pathlib
import socket
import stat
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
HANGS = """import time
def make(n=16):
    return lambda x: time.sleep(3600)
"""
KILLS = """import ctypes
def make(n=16):
    ctypes.string_at(0)
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

    def test_a_served_judge_goes_on_behind_candidates_that_hang_and_kill(self):
        with js.Judge(self.reference, processes=1, quick=True, deadline=3) as judge:
            self.assertEqual(judge({"name": "hangs", "source": HANGS}).verdict, "wrong")
            self.assertIn("answered", judge({"name": "hangs", "source": HANGS}).evidence)
            self.assertIn("signal", judge(KILLS).evidence)
            self.assertIn("line 1", judge("def make(:\n").evidence)
            self.assertIn("no function make", judge("other = 1\n").evidence)
            with self.assertRaisesRegex(js.UsageError, "does not exist"):
                judge("nothing.py")
            judged = judge(self.candidates + ":right", {"name": "twelve", "source": CANDIDATES.replace("right", "make")})
            self.assertEqual([each["candidate"].rpartition("/")[2] for each in judged.record["candidates"]],
                             ["candidates.py:right", "twelve"])
            for each in judged.record["candidates"]:
                self.assertGreater(each["cases"][0]["links_checked"], 0)
            keys = {judge(self.candidates + ":wrong").record["session_key"] for _ in range(2)}
            self.assertEqual(len(keys), 2)  # what one request learnt is of no use to the next

    def test_a_socket_is_the_users_own_and_requests_are_bounded(self):
        with js.Judge(self.reference, processes=1, quick=True) as judge:
            path = pathlib.Path(judge._folder.name) / "judge"
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            with socket.socket(socket.AF_UNIX) as raw:
                raw.connect(str(path))
                answers = raw.makefile("rb")
                for request, said in ((b"[]", "object"), (b"{}", "candidates"), (b'{"candidates": [1]}', "path"),
                                      (b'{"candidates": ["a"], "reference": "b"}', "no 'reference'"),
                                      (json.dumps({"id": 7, "candidates": ["a.py"] * 17}).encode(), "1 to 16"),
                                      (b"\xff{", "object")):
                    raw.sendall(request + b"\n")
                    answer = json.loads(answers.readline())
                    self.assertIn(said, answer["error"])
                    self.assertEqual(answer["exit_code"], 2)
                self.assertEqual(json.loads(self.asked(raw, answers, {"id": "x", "candidates": []}))["id"], "x")
            # A client that goes away before its answer takes nothing from the next.
            with socket.socket(socket.AF_UNIX) as gone:
                gone.connect(str(path))
                gone.sendall(json.dumps({"candidates": [self.candidates + ":wrong"]}).encode() + b"\n")
            self.assertEqual(judge(self.candidates + ":wrong").verdict, "wrong")
        self.assertFalse(path.exists())

    def asked(self, raw, answers, request):
        raw.sendall(json.dumps(request).encode() + b"\n")
        return answers.readline()

    def test_a_judge_that_cannot_be(self):
        with self.assertRaisesRegex(js.UsageError, "no judge serves"):
            js.Judge(socket=str(pathlib.Path(self.folder.name) / "nobody"))
        with self.assertRaisesRegex(js.UsageError, "none of the forms"):
            with js.Judge(self.candidates, quick=True) as judge:
                judge(self.candidates + ":right")
        failing = pathlib.Path(self.folder.name) / "failing.py"
        failing.write_text("def make():\n    raise ValueError('no such case')\n", encoding="utf-8")
        with self.assertRaisesRegex(js.FailedError, "no such case"):
            with js.Judge(str(failing), quick=True) as judge:
                judge(self.candidates + ":right")


if __name__ == "__main__":
    unittest.main()
