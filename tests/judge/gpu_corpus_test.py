"""Judges each cheat of gpu_corpus and its honest twin on a GPU; skipped where PyTorch has none.

`gpu_corpus_test.py --table` writes the table of docs/evidence/judge.md and says what differs from what is expected."""

import concurrent.futures
import importlib.util
import json
import pathlib
import subprocess
import sys
import time
import unittest

from judgements import HONEST, judge

CORPUS = pathlib.Path(__file__).resolve().parent / "gpu_corpus"
HANGING = ("endless_kernel",)


def has_gpu():
    if importlib.util.find_spec("torch") is None:
        return False
    code = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 1)"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def judged(name):
    """The first case's judgement, the record, and the seconds that it took."""
    began = time.monotonic()
    target, flags = f"{CORPUS / 'cheats.py'}:{name}", {"deadline": 10} if name in HANGING else {}
    if name.startswith("cuda:"):
        target, flags = name, {"cases": "n=512"}
    record, _, errors = judge(str(CORPUS / "reference.py"), target, device="cuda", **flags)
    if not record:
        raise AssertionError(f"{name}: {errors[-1000:]}")
    return record["candidates"][0]["cases"][0], record, time.monotonic() - began


def cases():
    """The corpus's table, read by a process that may import PyTorch."""
    code = f"import sys, json; sys.path.insert(0, {str(CORPUS)!r}); import cheats; print(json.dumps(cheats.CASES))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def all_judged(names):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return dict(zip(names, pool.map(judged, names)))


KERNEL = (f"cuda:{CORPUS / 'row_times_matrix.cu'}:row_times_matrix,grid=32x32,block=16x16,x=f32[256Ki],y=f32[256Ki],"
          "w=f32[256Ki],out=out:f32[256Ki],n={n}")
TWINS = ["plain", "joined_stream", "inner_graph", "packed_weights", "own_buffer", "tuned_at_first", "atomics",
         "waits_each_time", "triton_kernel", "compiled", KERNEL]


@unittest.skipUnless(has_gpu(), "PyTorch has no GPU here")
class GpuCorpusTest(unittest.TestCase):
    def test_each_cheat_and_its_twin(self):
        expected = {**{name: "harmless" for name in TWINS}, **{name: each["expected"] for name, each in cases().items()}}
        for name, (case, _, _) in all_judged(list(expected)).items():
            with self.subTest(name=name, evidence=case.get("evidence")):
                if expected[name] == "harmless":
                    self.assertIn(case["verdict"], HONEST)
                    self.assertGreater(case["links_checked"], 0)
                else:
                    self.assertEqual(case["verdict"], expected[name])


def short(seconds):
    return f"{1e6 * seconds:.1f} µs" if seconds > 0 else ""


def write_table():
    table = cases()
    found = all_judged(TWINS + list(table))
    verdict = {name: "harmless" if case["verdict"] in HONEST else case["verdict"] for name, (case, _, _) in found.items()}
    wrong = [name for name in TWINS if verdict[name] != "harmless"]
    wrong += [name for name, each in table.items() if verdict[name] != each["expected"]]
    print("| row | cheat | expected | verdict | evidence | honest twin | its verdict |\n|--|--|--|--|--|--|--|")
    for name, each in table.items():
        evidence = found[name][0].get("evidence", "").replace("|", "\\|") if verdict[name] in ("wrong", "invalid") else ""
        print(f"| {each['row']} | {each['name']} | {each['expected']} | {verdict[name]} | {evidence[:160]} | `{each['twin']}` "
              f"| {verdict.get(each['twin'], '')} |")
    for name in TWINS + [each for each in table if verdict[each] == "harmless"]:
        case, record, took = found[name]
        pairs = case["pairs"]
        said = ", ".join(f"{word} {short(pairs[0][word + '_seconds'])}" for word in ("reference", "candidate", "chain")) if pairs else ""
        print(f"{name}: {case['verdict']}, {case.get('evidence', '')[:300]}; {said}; {pairs[0]['candidate_calls'] if pairs else ''} calls, "
              f"{case['findings']}, isolation {record['isolation']}, {took:.0f} s")
    print("not as expected:", ", ".join(wrong) or "nothing")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        write_table()
    else:
        unittest.main()
