"""Judges each cheat of the corpus and its honest twin. Asserts only what a busy machine cannot change: what is wrong, what
is invalid, which links held; of what is harmless, that it is neither.

`corpus_test.py --table` writes the table of docs/evidence/judge.md."""

import concurrent.futures
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

from judgements import HONEST, judge

SOURCE = pathlib.Path(__file__).resolve().parent / "corpus"
FOLDER = tempfile.TemporaryDirectory(prefix="jitterscope-corpus-")
CORPUS = pathlib.Path(FOLDER.name) / "corpus"  # a copy, which a cheat may try to change
shutil.copytree(SOURCE, CORPUS)
sys.path.insert(0, str(CORPUS))
import cheats  # noqa: E402  (the judge's own process never imports it; this test reads its table)


def judged(name, **flags):
    record, code, errors = judge(str(CORPUS / "reference.py"), f"{CORPUS / 'cheats.py'}:{name}", **flags)
    if not record:
        raise AssertionError(f"{name}: {errors}")
    return record["candidates"][0]["cases"][0], code, record


HANGING = ("hangs", "hangs_as_made")
NEED_NAMESPACES = ("kills_parent", "kills_all", "rewrites_reference", "chmods_reference", "leaves_process",
                   "leaves_shared_memory", "fills_disk")
LEFT_OVER = pathlib.Path("/dev/shm/jitterscope-corpus-left-over")


class CorpusTest(unittest.TestCase):
    def test_each_cheat_and_its_twin(self):
        before = (CORPUS / "reference.py").read_text(encoding="utf-8")
        mode = (CORPUS / "reference.py").stat().st_mode
        names = list(cheats.CASES) + sorted({each["twin"] for each in cheats.CASES.values()})
        flags = {name: {"deadline": 8} for name in HANGING}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = dict(zip(names, pool.map(lambda name: judged(name, **flags.get(name, {})), names)))
        isolation = found["plain"][2]["isolation"]
        for name in names:
            each, code, _ = found[name]
            expected = cheats.CASES.get(name, {"expected": "harmless"})["expected"]
            # These need namespaces to be harmless: without, the corpus does not try.
            if isolation != "strong" and name in NEED_NAMESPACES:
                continue
            with self.subTest(name=name, evidence=each.get("evidence")):
                if expected == "harmless":
                    self.assertIn(each["verdict"], HONEST)
                    self.assertGreaterEqual(each["links_checked"], 16)
                else:
                    self.assertEqual(each["verdict"], expected)
                self.assertEqual(code, 6 if expected == "invalid" else 0)
        if isolation == "strong":
            self.assertEqual((CORPUS / "reference.py").read_text(encoding="utf-8"), before)
            self.assertEqual((CORPUS / "reference.py").stat().st_mode, mode)
            self.assertFalse(LEFT_OVER.exists())

    def test_executed_processes_are_held_back_as_forked_ones(self):
        for name in NEED_NAMESPACES:
            each, _, record = judged(name, quick=False)
            if record["isolation"] != "strong":
                return
            with self.subTest(name=name, evidence=each.get("evidence")):
                self.assertTrue(each["verdict"] == cheats.CASES[name]["expected"] or each["verdict"] in HONEST)
        self.assertFalse(LEFT_OVER.exists())

    def test_exit_codes(self):
        self.assertEqual(judged("constant", fail_if="wrong")[1], 1)
        self.assertEqual(judged("plain", precision="1%")[1], 4)  # one pair decides nothing
        _, code, errors = judge(str(CORPUS / "reference.py"), str(CORPUS / "cheats.py") + ":plain", device="virtual:h200")
        self.assertEqual(code, 2)
        self.assertIn("a simulated GPU cannot", errors)
        # Without a GPU, or because its reference does not import torch.
        _, code, _ = judge(str(CORPUS / "reference.py"), str(CORPUS / "cheats.py") + ":plain", device="cuda")
        self.assertIn(code, (2, 3))
        _, code, errors = judge(str(CORPUS / "nothing.py"), str(CORPUS / "cheats.py") + ":plain")
        self.assertEqual(code, 2)
        self.assertIn("does not exist", errors)

    def test_references_that_nothing_can_be_judged_by(self):
        with tempfile.TemporaryDirectory() as folder:
            def wrong_reference(text):
                path = pathlib.Path(folder) / "reference.py"
                path.write_text(text, encoding="utf-8")
                return judge(str(path), f"{path}:make")

            _, code, errors = wrong_reference("def make():\n    raise ValueError('no such case')\n")
            self.assertEqual(code, 5)
            self.assertIn("no such case", errors)
            _, code, errors = wrong_reference("def make():\n    return lambda x: x\n")
            self.assertIn("its function and its inputs", errors)
            record, code, _ = wrong_reference("import random\nfrom array import array\ndef make():\n    return (lambda x: "
                                              "array('f', [random.random()] * 8)), [8]\n")
            self.assertEqual(record["candidates"][0]["verdict"], "refused")
            record, code, _ = wrong_reference("from array import array\ndef make():\n    return (lambda x: "
                                              "array('f', bytes(32))), [8]\n")
            self.assertIn("degenerate", record["candidates"][0]["cases"][0]["evidence"])

            record, code, _ = wrong_reference("from array import array\ndef make():\n    return (lambda x: "
                                              "array('f', [float('nan')] * 8)), [8]\n")
            self.assertEqual(record["candidates"][0]["verdict"], "refused")
            _, code, errors = wrong_reference("from array import array\ndef make():\n    return (lambda x: "
                                              "array('f', bytes(80 << 20))), [8]\n")
            self.assertEqual(code, 2)
            self.assertIn("take a smaller case", errors)
            _, code, errors = wrong_reference("def make():\n    return (lambda x: x), [1 << 30, (1 << 30, 1 << 10)]\n")
            self.assertEqual(code, 5)
            self.assertIn("nothing to judge by", errors)

    def test_a_record_is_judged_again_with_its_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "verdict.json"
            for name in ("less_work_later", "clipped", "plain"):
                first, _, record = judged(name)
                path.write_text(json.dumps(record), encoding="utf-8")
                again, code, errors = judge(replay=path)
                self.assertTrue(again, errors)
                self.assertEqual(again["session_key"], record["session_key"])
                second = again["candidates"][0]["cases"][0]
                if name == "plain":
                    self.assertIn(second["verdict"], HONEST)
                    continue
                # The same inputs and call; what a cheat gives there may come from calls before it in its process, and one
                # that works for 40 calls is right where the judge finds an early one of a later chain.
                words = ("verdict", "key", "evidence")
                if name == "less_work_later":
                    words = ("verdict", "key", "call") if first["call"] >= 40 else ("verdict",)
                for word in words:
                    self.assertEqual(second[word], first[word], name)
                # Another candidate is asked the same, and is right.
                mended, _, errors = judge(str(CORPUS / "reference.py"), f"{CORPUS / 'cheats.py'}:plain", replay=path)
                self.assertTrue(mended, errors)
                case = mended["candidates"][0]["cases"][0]
                self.assertIn(case["verdict"], HONEST)
                if "call" in first:
                    self.assertIn("right_where_it_was_wrong", case["findings"])
            path.write_text("{}", encoding="utf-8")
            self.assertEqual(judge(replay=path)[1], 2)

    def test_a_helper_of_the_candidates_own_may_have_the_name_of_the_references(self):
        """The reference has run in the candidate's process before."""
        with tempfile.TemporaryDirectory() as folder:
            make = "import helper\n\n\ndef make():\n    return {}, [64, 64]\n"
            helper = "from array import array\n\n\ndef {}(x, y):\n    return array(memoryview(x).format, [a + b for a, b in zip(x, y)])\n"
            for side, name in (("theirs", "slow"), ("mine", "fast")):
                place = pathlib.Path(folder) / side
                place.mkdir()
                (place / "kernel.py").write_text(make.format("helper." + name), encoding="utf-8")
                (place / "helper.py").write_text(helper.format(name), encoding="utf-8")
            record, _, errors = judge(f"{folder}/theirs/kernel.py", f"{folder}/mine/kernel.py")
            self.assertTrue(record, errors)
            case = record["candidates"][0]["cases"][0]
            self.assertIn(case["verdict"], HONEST, case["evidence"])

    def test_several_cases_and_candidates(self):
        target = str(CORPUS / "cheats.py")
        record, code, _ = judge(str(CORPUS / "reference.py"), target + ":plain", target + ":constant", cases="n=32,63")
        self.assertEqual(code, 0)
        self.assertEqual([each["verdict"] for each in record["candidates"]][1], "wrong")
        self.assertEqual([case["case"] for case in record["candidates"][0]["cases"]], [{"n": "32"}, {"n": "63"}])


def write_table():
    """Prints docs/evidence/judge.md's table: what is said of each cheat and of its twin."""
    print("| row | cheat | expected | verdict | evidence | honest twin | its verdict |\n|--|--|--|--|--|--|--|")
    verdicts = {}
    for name, each in cheats.CASES.items():
        found, _, _ = judged(name, **({"deadline": 8} if name in HANGING else {}))
        twin = each["twin"]
        if twin not in verdicts:
            verdicts[twin] = judged(twin)[0]["verdict"]
        evidence = found.get("evidence", "").replace("|", "\\|") if found["verdict"] in ("wrong", "invalid") else ""
        counted = "harmless" if found["verdict"] in HONEST else found["verdict"]
        of_twin = "harmless" if verdicts[twin] in HONEST else verdicts[twin]
        print(f"| {each['row']} | {each['name']} | {each['expected']} | {counted} | {evidence} | `{twin}` | {of_twin} |",
              flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        write_table()
    else:
        unittest.main()
