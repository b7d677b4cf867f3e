"""js.loss_scaling: what is lost without a scale, what overflows, and that it counts as torch.amp.GradScaler does."""

import json
import pathlib
import tempfile
import unittest

import jitterscope as js
from jitterscope._loss_scaling import GROWTH_INTERVAL, Scale, train_asked

try:
    import torch
    HAS_GPU = torch.cuda.is_available()
except ImportError:
    torch = None
    HAS_GPU = False


def network(device="cpu"):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to(device)
    inputs = torch.randn(4, 32, 16, device=device)
    labels = torch.randint(4, (4, 32), device=device)

    def loss_times(factor):
        return lambda model, step: factor * torch.nn.functional.cross_entropy(model(inputs[step % 4]).float(),
                                                                              labels[step % 4])

    return layers, loss_times


class Rules(unittest.TestCase):
    def test_a_dynamic_scale_is_halved_by_an_overflow_and_doubled_after_many_good_steps(self):
        scale = Scale("dynamic")
        scale.update(True)
        self.assertEqual(scale.value, 2.0**15)
        for _ in range(GROWTH_INTERVAL - 1):
            scale.update(False)
        self.assertEqual(scale.value, 2.0**15)
        scale.update(False)
        self.assertEqual(scale.value, 2.0**16)

    def test_a_static_scale_stays(self):
        scale = Scale(256.0)
        scale.update(True)
        self.assertEqual(scale.value, 256.0)


@unittest.skipIf(torch is None, "PyTorch is not there")
class OnACpu(unittest.TestCase):
    def test_small_gradients_underflow_without_a_scale_and_not_with_one(self):
        model, loss_times = network()
        result = js.loss_scaling(model, loss_times(1e-5), steps=10, scales=["none", 2.0**16])
        none, scaled = result.arms
        self.assertGreater(none.underflow, 0.2)
        self.assertLess(scaled.underflow, 0.02)
        self.assertEqual(none.overflow, 0.0)
        self.assertEqual(set(none.layers), {"0", "2"})
        self.assertIn("2^16 loses least", result.answers[0])
        self.assertIn("float32", str(result))

    def test_large_gradients_overflow_and_their_steps_are_skipped(self):
        model, loss_times = network()
        result = js.loss_scaling(model, loss_times(1.0), steps=20, scales=[2.0**40, "dynamic"])
        static, dynamic = result.arms
        self.assertEqual(static.skipped, 20)
        self.assertGreater(static.overflow, 0.1)
        self.assertEqual(dynamic.skipped, 0)
        self.assertIn("too large", " ".join(result.answers))

    def test_a_dynamic_scale_falls_until_it_fits(self):
        model, loss_times = network()
        [dynamic] = js.loss_scaling(model, loss_times(100.0), steps=20, scales=["dynamic"], rate=1e-5).arms
        self.assertGreater(dynamic.skipped, 2)
        self.assertLess(dynamic.skipped, 20)
        self.assertEqual(dynamic.scale, 2.0 ** (16 - dynamic.skipped))

    def test_the_model_that_was_handed_in_is_left_as_it_is(self):
        model, loss_times = network()
        before = [parameter.clone() for parameter in model.parameters()]
        js.loss_scaling(model, loss_times(1.0), steps=10, scales=["none"])
        for old, new in zip(before, model.parameters()):
            self.assertTrue(torch.equal(old, new))
            self.assertIsNone(new.grad)

    def test_what_cannot_be_asked_is_answered_with_a_sentence(self):
        model, loss_times = network()
        for arguments, why in [((object(), loss_times(1.0)), "torch.nn.Module"), ((model,), "together with its loss"),
                               ((torch.nn.ReLU(), loss_times(1.0)), "no parameter"),
                               ((model.double(), loss_times(1.0)), "float32")]:
            with self.assertRaisesRegex(js.UsageError, why):
                js.loss_scaling(*arguments)
        for options, why in [({"steps": 5}, "10 or more"), ({"scales": ["some"]}, "'some' is neither"),
                             ({"scales": [-1.0]}, "above zero")]:
            with self.assertRaisesRegex(js.UsageError, why):
                js.loss_scaling(model.float(), loss_times(1.0), **options)


MODEL = """
import torch

def make():
    model = torch.nn.Linear(4, 2)
    inputs = torch.randn(8, 4)
    return model, lambda trained, step: 1e-8 * trained(inputs).square().mean()

def other():
    return 7
"""


@unittest.skipIf(torch is None, "PyTorch is not there")
class Asked(unittest.TestCase):
    """By `jitterscope study loss-scaling`."""

    def ask(self, function):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trained_model.py"
            path.write_text(MODEL)
            asked = {"callable": f"{path}:{function}", "device": "cpu", "seed": 1}
            told = []
            return train_asked(json.dumps(asked), told.append), told

    def test_the_function_gives_the_model_and_its_loss(self):
        found, told = self.ask("make")
        self.assertEqual(found["model"], "Linear")
        self.assertEqual([arm["name"] for arm in found["arms"]], ["none", "2^8", "2^16", "2^24", "dynamic"])
        self.assertGreater(found["arms"][0]["underflow"], found["arms"][2]["underflow"])
        self.assertEqual(told[:2], ["training in float32", "training with scale none"])
        json.dumps(found, allow_nan=False)

    def test_another_function_is_refused(self):
        with self.assertRaisesRegex(js.UsageError, "returns a torch.nn.Module"):
            self.ask("other")


@unittest.skipUnless(HAS_GPU, "needs a GPU")
class OnAGpu(unittest.TestCase):
    def test_a_dynamic_scale_skips_the_steps_that_grad_scaler_skips(self):
        model, loss_times = network("cuda")
        loss, rate, steps = loss_times(1000.0), 1e-6, 30
        [dynamic] = js.loss_scaling(model, loss, steps=steps, scales=["dynamic"], rate=rate).arms
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        scaler = torch.amp.GradScaler("cuda")
        skipped = 0
        for step in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                value = loss(model, step)
            scaler.scale(value).backward()
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            skipped += scaler.get_scale() < before
        self.assertGreater(skipped, 0)
        self.assertEqual(dynamic.skipped, skipped)
        self.assertEqual(dynamic.scale, scaler.get_scale())


if __name__ == "__main__":
    unittest.main()
