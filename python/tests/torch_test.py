"""js with real PyTorch on the CPU: measuring a model, and advice about it. Skipped where there is no PyTorch."""

import copy
import sys
import unittest

import jitterscope as js

try:
    import torch
except ImportError:
    print("OK (skipped: no PyTorch here; scripts/setup torch installs Debian's)")
    sys.exit(0)

from jitterscope._advise import Remedy, relative_error  # noqa: E402
from jitterscope._device import open_device  # noqa: E402
from jitterscope._torch_work import TorchWork  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(1)
IMAGES = torch.randn(2, 3, 16, 16)


def network():
    return torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
                               torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 4)).eval()


class Works(unittest.TestCase):
    def setUp(self):
        self.model = network()
        self.work = TorchWork(torch, self.model, [IMAGES], open_device("cpu"))
        self.first = self.work.build([])

    def error_of(self, *remedies):
        built = self.work.build([Remedy(study, arm, []) for study, arm in remedies])
        return relative_error(built.results, self.first.results)

    def test_the_model_as_it_is_computes_what_it_computes(self):
        with torch.no_grad():
            expected = self.model(IMAGES).double()
        self.assertTrue(torch.equal(self.first.results[0], expected))

    def test_each_remedy_is_made_of_a_copy(self):
        self.assertLess(self.error_of(("layout", "nhwc")), 1e-5)
        of_bf16 = self.error_of(("precision", "bf16"))
        self.assertTrue(1e-4 < of_bf16 < 5e-2, of_bf16)
        of_autocast = self.error_of(("precision", "autocast bf16"))
        self.assertTrue(0 < of_autocast < 5e-2, of_autocast)
        self.assertEqual({each.dtype for each in self.model.parameters()}, {torch.float32})
        self.assertFalse(self.model[0].weight.is_contiguous(memory_format=torch.channels_last))

    def test_the_lines_do_what_was_measured(self):
        remedies = [each for each in self.work.remedies("latency")[0] if each.study in ("precision", "layout")]
        by_name = {each.arm: each for each in remedies}
        for names in [[each] for each in by_name] + [["nhwc", "bf16"], ["autocast bf16", "nhwc"]]:
            taken = [by_name[each] for each in names]
            written = {"torch": torch, "model": copy.deepcopy(self.model), "batch": IMAGES}
            exec("\n".join(line for each in taken for line in each.lines), written)
            with torch.no_grad():
                output = written["model"](written["batch"]).double()
            self.assertTrue(torch.equal(output, self.work.build(taken).results[0]), names)

    def test_of_a_larger_batch_the_first_part_is_the_batch(self):
        built = self.work.build([Remedy("batch", "×4", [], work=4)])
        self.assertEqual(built.results[0].shape, (2, 4))
        self.assertLess(relative_error(built.results, self.first.results), 1e-5)
        self.assertEqual(built.call().shape, (8, 4))

    def test_what_can_be_tried_depends_on_the_model_and_the_goal(self):
        def studies(goal):
            left, untried = self.work.remedies(goal)
            return {each.study for each in left}, {each["study"]: each["reason"] for each in untried}

        tried, untried = studies("latency")
        self.assertTrue({"precision", "layout"} <= tried)
        self.assertIn("CPU", untried["graph"])
        self.assertIn("throughput", untried["batch"])
        self.assertIn("batch", studies("throughput")[0])
        linear = TorchWork(torch, torch.nn.Linear(4, 4), [torch.randn(2, 4)], open_device("cpu"))
        self.assertIn("images", {each["study"]: each["reason"] for each in linear.remedies("latency")[1]}["layout"])


class Advice(unittest.TestCase):
    def test_of_a_model(self):
        found = js.advise(network(), IMAGES, device="cpu", allow=["layout", "batch"], goal="throughput", margin=0.2,
                          time_limit=0.4)
        self.assertEqual(found.record["title"], "Sequential")
        # A call of 0.1 ms is mostly PyTorch's own work, which a larger batch parts among its samples.
        self.assertIn("batch", [each["study"] for each in found.record["recommendations"]])
        self.assertIn("batch_size *= ", str(found))
        self.assertLess(found.record["together"]["comparisons"][0]["time_ratio"]["ratio"], 0.8)


class Measured(unittest.TestCase):
    def test_a_model_is_a_callable(self):
        model = network()
        time = js.measure(lambda: model(IMAGES), device="cpu", time_limit=0.3, precision=0.5)
        self.assertGreater(time.median, 1e-6)

    def test_what_it_raises_arrives(self):
        with self.assertRaises(RuntimeError):
            js.measure(lambda: torch.nn.Linear(2, 2)(torch.randn(3, 3)), device="cpu")


if __name__ == "__main__":
    unittest.main()
