"""The forms that judged files may have: which one a file is said to have, what is said to be missing, and judgements of each.

Judgements need PyTorch; what a syntax tree says needs nothing."""

import importlib.util
import pathlib
import tempfile
import unittest

from judgements import HONEST, judge
from jitterscope import Kernel, _judge, _judged_forms as forms, _judged_kernel as kernels

BUFFERS = [{"name": "x", "kind": "input", "dtype": "f32", "count": 12}, {"name": "y", "kind": "output", "dtype": "f32", "count": 12},
           {"name": "sum", "kind": "output", "dtype": "f32", "count": 3}]
HAS_TORCH = importlib.util.find_spec("torch") is not None

KERNELBENCH = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.first = nn.Linear(size, hidden)

    def forward(self, x, factor):
        return torch.relu(self.first(x)) * factor


batch_size = 4


def get_inputs():
    return [torch.randn(batch_size, 8) * 0.5, 2.0]


def get_init_inputs():
    return [8, 16]


def get_work():
    return {"flops": 2 * batch_size * 8 * 16}
"""
KERNELBENCH_RIGHT = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.first = torch.nn.Linear(size, hidden)

    def forward(self, x, factor):
        return torch.nn.functional.linear(x, self.first.weight, self.first.bias).clamp(min=0) * factor
"""
KERNELBOT = """import torch
from task import input_t, output_t
from utils import make_match_reference


def ref_kernel(data: input_t) -> output_t:
    a, b, out = data
    out[...] = a @ b
    return out


def generate_input(m: int, seed: int) -> input_t:
    generator = torch.Generator()
    generator.manual_seed(seed)
    return (torch.rand(m, 8, generator=generator), torch.rand(8, 4, generator=generator), torch.empty(m, 4))


check_implementation = make_match_reference(ref_kernel)
"""
KERNELBOT_RIGHT = """import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    a, b, out = data
    return torch.matmul(a, b, out=out)
"""
KERNELBOT_MEMO = KERNELBOT_RIGHT.replace("    return torch", "    if out.any():\n        return out\n    return torch")
FUNCTION = """import torch

rows = 4


def get_inputs():
    return (torch.randint(0, 10, (rows, 6)), torch.randn(10, 3))


def embedding(indices, table):
    return table[indices].sum(1)
"""
FUNCTION_RIGHT = """import torch


def embedding(indices, table):
    return torch.nn.functional.embedding(indices, table).sum(dim=1)
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)


class Kernels(Folder):
    def refused(self, reference, *words):
        record, code, errors = judge(reference, *words)
        self.assertEqual((record, code), ({}, 2), errors)
        return errors

    def test_a_case_has_its_place_in_the_text(self):
        text = "cuda:a.cu:k,grid={n}/block,block=256,n={n},m={m},x=f32[n]"
        self.assertEqual(kernels.with_case(text, {"n": "64"}), "cuda:a.cu:k,grid=64/block,block=256,n=64,m={m},x=f32[n]")

    def test_outputs_have_the_references_shapes(self):
        shapes = kernels._shapes_of(BUFFERS, [[3, 4], [4]])
        self.assertEqual(shapes, [[12], [3, 4], [3]])

    def test_a_buffer_that_is_read_and_written_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"y is inout.*y=out:f32\[12\]"):
            kernels._shapes_of([{"name": "y", "kind": "inout", "dtype": "f32", "count": 12}], [])

    def test_what_cannot_be_judged_is_said_at_once(self):
        reference = self.file("reference.py", FUNCTION)
        kernel = self.file("mine.cu", "__global__ void k(float* x) {}")
        self.assertIn("a kernel is judged on a GPU", self.refused(reference, f"cuda:{kernel}:k,grid=1,block=1,x=out:f32[4]", "--device", "cpu"))
        self.assertIn("no_such.cu", self.refused(reference, "cuda:no_such.cu:k,grid=1,block=1"))
        self.assertIn("the kernel is missing", self.refused(reference, f"cuda:{kernel}"))
        self.assertIn("cannot be the reference", self.refused(f"cuda:{kernel}:k,grid=1,block=1", reference))

    def test_a_kernel_from_python_is_its_text(self):
        kernel = Kernel("a.cu", "app::scale<float>", grid=1, block=32, x="f32[4]", y="out:f32[4]")
        self.assertEqual(_judge._target(kernel), kernel.operation)
        full = f"cuda:{pathlib.Path('a.cu').resolve()}:app::scale<float>,grid=1,block=32,x=f32[4],y=out:f32[4]"
        self.assertEqual(_judge._asked(kernel), full)


class Trees(Folder):
    def found(self, text, name=""):
        target = self.file("reference.py", text)
        return tuple(forms.form_of_reference(target + (":" + name if name else "")))

    def missing(self, text, name=""):
        with self.assertRaises(ValueError) as raised:
            self.found(text, name)
        return str(raised.exception)

    def test_each_form_is_found_and_no_file_is_run(self):
        ends = "raise SystemExit('this file was run')\n"
        self.assertEqual(self.found("def make():\n    pass\n" + ends), ("make", "make"))
        self.assertEqual(self.found(KERNELBENCH + ends), ("kernelbench", "Model"))
        self.assertEqual(self.found(KERNELBOT + ends), ("kernelbot", "ref_kernel"))
        self.assertEqual(self.found(FUNCTION + ends), ("function", "embedding"))

    def test_a_name_decides(self):
        text = FUNCTION + "def other(indices, table):\n    pass\ndef make():\n    pass\n"
        self.assertEqual(self.found(text), ("make", "make"))
        self.assertEqual(self.found(text, "other"), ("function", "other"))
        self.assertEqual(self.found(text, "make"), ("make", "make"))
        self.assertEqual(self.found(KERNELBENCH.replace("Model(", "Net("), "Net"), ("kernelbench", "Net"))
        self.assertEqual(self.found("try:\n    from fast import f\nexcept ImportError:\n    f = None\n", "f"), ("make", "f"))

    def test_what_is_missing_is_said(self):
        self.assertIn("no get_inputs()", self.missing("class Model:\n    pass\n"))
        self.assertIn("no ref_kernel()", self.missing("def generate_input():\n    pass\n"))
        self.assertIn("which one is right", self.missing(FUNCTION + "def other():\n    pass\n"))
        self.assertIn("none of the forms", self.missing("x = 1\n"))
        self.assertIn("class A and function f", self.missing("class A:\n    pass\ndef f():\n    pass\n"))
        self.assertIn("no nothing", self.missing("def make():\n    pass\n", "nothing"))
        self.assertIn("line 2", self.missing("x = 1\ndef (\n"))

    def test_a_candidate_has_the_counterpart(self):
        def name(text, form, of_reference):
            return forms.name_of_candidate(self.file("candidate.py", text), forms.Chosen(form, of_reference))
        self.assertEqual(name(KERNELBENCH_RIGHT, "kernelbench", "Model"), "ModelNew")
        self.assertEqual(name(KERNELBENCH, "kernelbench", "Model"), "Model")  # a reference against itself
        self.assertEqual(name(KERNELBOT_RIGHT, "kernelbot", "ref_kernel"), "custom_kernel")
        self.assertEqual(name("import torch\ncustom_kernel = torch.compile(print)\n", "kernelbot", "ref_kernel"), "custom_kernel")
        self.assertEqual(name("def anything(x):\n    pass\n", "function", "embedding"), "anything")
        with self.assertRaisesRegex(ValueError, "no class ModelNew"):
            name("def make():\n    pass\n", "kernelbench", "Model")

    def test_cases_of_a_task(self):
        target = self.file("reference.py", KERNELBOT)
        self.assertEqual(forms.cases_of_task(target), [])
        self.file("task.yml", 'files:\n  - {"name": "reference.py"}\ntests:\n  - {"m": 1, "seed": 2}\nbenchmarks:  # timed\n'
                              '  - {"m": 64, "seed": 3}\n  - {"m": 64, "seed": 4}\n  - {"m": 128, "k": "x"}\nranking_by: "geom"\n')
        self.assertEqual(forms.cases_of_task(target), [{"m": "64"}, {"m": "128", "k": "x"}])
        self.file("task.yml", "benchmarks:\n  - m: 3\n")
        with self.assertRaisesRegex(ValueError, "--cases"):
            forms.cases_of_task(target)


@unittest.skipUnless(HAS_TORCH, "needs PyTorch")
class Judgements(Folder):
    def test_what_the_reference_sets_for_all_of_pytorch_is_not_the_candidates(self):
        """Though the reference has run in the candidate's process before."""
        setting = "torch.set_default_dtype(torch.float64)\ntorch.backends.cudnn.benchmark = True\ntorch.use_deterministic_algorithms(True)\n"
        reference = self.file("theirs/reference.py", "import torch\n" + setting + "\n\ndef work(x):\n    return x * 2\n\n\n"
                              "def get_inputs():\n    return [torch.randn(64, dtype=torch.float32)]\n")
        candidate = self.file("mine/candidate.py", "import torch\n\nassert torch.get_default_dtype() == torch.float32\n"
                              "assert not torch.backends.cudnn.benchmark and not torch.are_deterministic_algorithms_enabled()\n"
                              "\n\ndef work(x):\n    return x + x\n")
        record, _, errors = judge(reference, candidate)
        self.assertTrue(record, errors)
        case = record["candidates"][0]["cases"][0]
        self.assertIn(case["verdict"], HONEST, case["evidence"])

    def case_of(self, *words):
        record, _, errors = judge(*words)
        self.assertTrue(record, errors)
        return record["candidates"][0]["cases"][0], record

    def assert_right(self, case):
        self.assertIn(case["verdict"], HONEST, case["evidence"])
        self.assertEqual(case["links_checked"], 16)

    def test_kernelbench(self):
        reference = self.file("reference.py", KERNELBENCH)
        case, record = self.case_of(reference, self.file("new.py", KERNELBENCH_RIGHT), "--cases", "batch_size=3")
        self.assert_right(case)
        self.assertEqual(record["form"], "kernelbench")
        self.assertEqual(case["inputs"][0][:19], "f32[3,8] normal tim")  # the scale of what get_inputs() gives
        self.assertEqual(case["work"]["flops"], 2 * 3 * 8 * 16)
        self.assertEqual(case["work"]["bytes"], 4 * (3 * 8 + 3 * 16))
        self.assertFalse(case["work"]["bytes_told"])

    def test_weights_are_the_references_or_it_is_said(self):
        reference = self.file("reference.py", KERNELBENCH)
        renamed = self.file("renamed.py", KERNELBENCH_RIGHT.replace("self.first", "self.other"))
        case, _ = self.case_of(reference, renamed)
        self.assert_right(case)  # drawn in the same order, they are the same
        self.assertIn("weights_differ", case["findings"])
        own = KERNELBENCH_RIGHT.replace("super().__init__()", "super().__init__()\n        torch.rand(1)")
        case, _ = self.case_of(reference, self.file("own.py", own))
        self.assertEqual(case["verdict"], "wrong")
        self.assertIn("its weights are not the reference's: their values differ", case["evidence"])
        fixed = KERNELBENCH_RIGHT.replace("nn.Linear(size", "nn.Linear(size + 0 * torch.manual_seed(0).initial_seed()")
        self.assertEqual(self.case_of(reference, self.file("fixed.py", fixed))[0]["verdict"], "wrong")

    def test_kernelbot(self):
        # Where people have them: utils.py is one folder up.
        self.file("utils.py", "def make_match_reference(reference):\n    return reference\n")
        self.file("problem/task.py", "import torch\ninput_t = output_t = torch.Tensor\n")
        self.file("problem/task.yml", 'benchmarks:\n  - {"m": 5, "seed": 1}\n')
        reference = self.file("problem/reference.py", KERNELBOT)
        case, record = self.case_of(reference, self.file("right.py", KERNELBOT_RIGHT))
        self.assert_right(case)
        self.assertEqual((record["form"], case["case"]), ("kernelbot", {"m": "5"}))
        # Memory for the output is no input.
        self.assertEqual([each.split()[0] for each in case["inputs"]], ["f32[5,8]", "f32[8,4]"])
        self.assertEqual(self.case_of(reference, self.file("memo.py", KERNELBOT_MEMO))[0]["verdict"], "wrong")

    def test_function(self):
        reference = self.file("reference.py", FUNCTION)
        case, record = self.case_of(reference, self.file("right.py", FUNCTION_RIGHT))
        self.assert_right(case)
        self.assertEqual((record["form"], case["inputs"][0]), ("function", "i64[4,6] below 10"))
        wrong = self.file("wrong.py", FUNCTION_RIGHT.replace("indices, table)", "indices.clamp(max=8), table)", 2).replace(
            "def embedding(indices.clamp(max=8), table)", "def embedding(indices, table)"))
        self.assertEqual(self.case_of(reference, wrong)[0]["verdict"], "wrong")

    def test_inputs_that_cannot_be_drawn_are_refused_and_why(self):
        def refused(inputs, body="return x.sum()"):
            text = f"import torch\ndef get_inputs():\n    return [{inputs}]\ndef f(x):\n    {body}\n"
            path = self.file("reference.py", text)
            record, _, errors = judge(path, path)
            self.assertFalse(record)
            return errors
        self.assertIn("is zero, as in a mask", refused("torch.rand(16, 16).tril()"))
        self.assertIn("ascending order", refused("torch.arange(8)"))
        self.assertIn("not finite", refused("torch.full((4,), float('inf'))"))
        self.assertIn("bool", refused("torch.ones(4) > 0"))
        self.assertIn("below 0", refused("torch.tensor([-1, 3])"))
        self.assertIn("an argument is a Linear", refused("torch.nn.Linear(2, 2)"))
        self.assertIn("changes its input 0", refused("torch.rand(8)", "return x.add_(1)"))
        self.assertIn("no variable 'rows'", judge(*[self.file("a.py", KERNELBENCH)] * 2, "--cases", "rows=3")[2])

    def test_half_precision(self):
        text = ("import torch\ndef get_inputs():\n    return [torch.randn(32).half(), torch.randn(32).bfloat16()]\n"
                "def f(x, y):\n    return x * 2, y * 2\n")
        case, _ = self.case_of(self.file("reference.py", text), self.file("b.py", text.replace("x * 2", "x + x")))
        self.assert_right(case)
        self.assertEqual([each.split("[")[0] for each in case["inputs"]], ["f16", "bf16"])


if __name__ == "__main__":
    unittest.main()
