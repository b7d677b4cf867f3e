"""js.loss_scaling: which scale of the loss a network's training in half precision needs, and what each one costs.

Arms: no scale, static ones, and a dynamic one with the rules of torch.amp.GradScaler (2^16 at first, halved after a
step that overflows, doubled after 2,000 that do not). Each trains a copy of the network on the same data, beside one
in float32. Reports steps skipped, the loss at the end against float32's, the time of a step, and for each layer the
share of its gradient that is lost: elements that are zero and are not in float32 (underflow), or not finite (overflow).

Can go wrong: a hundred steps do not show what a thousand would; the loss of a network that draws random numbers
differs for that reason alone. On a CPU whose PyTorch cannot compute in float16, gradients are computed in float32 and
rounded to float16 behind each layer: the scale acts as on a GPU, but sums within a layer do not overflow, and times
say nothing.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
import math
import statistics
import time
import warnings
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

from ._errors import MissingError, UsageError
from ._text import change_text

FIRST_SCALE, GROWTH_INTERVAL = 2.0**16, 2000  # torch.amp.GradScaler's
LOOKED_AT = 10  # gradients are compared with float32's in one step of so many
END = 10  # losses at the end whose mean counts


class Scale:
    """The scale of the loss: static, or dynamic by GradScaler's rules."""

    def __init__(self, asked: Union[str, float]) -> None:
        self.is_dynamic = asked == "dynamic"
        self.checks = asked != "none"  # whether a step that overflows is skipped
        self.value = FIRST_SCALE if self.is_dynamic else 1.0 if asked == "none" else float(asked)
        self.steps_since = 0

    def update(self, overflowed: bool) -> None:
        """Behind each step."""
        if not self.is_dynamic:
            return
        self.steps_since = 0 if overflowed else self.steps_since + 1
        if overflowed:
            self.value *= 0.5
        elif self.steps_since == GROWTH_INTERVAL:
            self.value *= 2.0
            self.steps_since = 0


class LayerShares(NamedTuple):
    """The gradients of one layer's parameters, over the steps that were looked at."""

    underflow: float  # zero, and not zero in float32
    overflow: float  # not finite


class LossScalingArm(NamedTuple):
    """One scale."""

    name: str
    skipped: int
    underflow: float  # of all elements
    overflow: float
    layers: dict[str, LayerShares]
    loss: float  # mean of the last ten steps
    step: float  # seconds, median
    scale: float  # at the end

    @property
    def worst(self) -> str:
        """The layer that loses most."""
        return max(self.layers, key=lambda name: sum(self.layers[name]))


class LossScaling(NamedTuple):
    """The results of all scales; prints as a table."""

    model: str

    arms: list[LossScalingArm]
    float32_loss: float
    float32_step: float
    steps: int
    way: str  # how gradients came to be in half precision

    def __str__(self) -> str:
        header = f"{'scale':>12} {'underflow':>10} {'overflow':>9} {'skipped':>8} {'loss':>10} {'step':>10}  most lost in"
        rows = [header, f"{'float32':>12} {'':>10} {'':>9} {'':>8} {self.float32_loss:>10.4g} {_seconds(self.float32_step):>10}"]
        for arm in self.arms:
            lost = arm.layers[arm.worst]
            place = f"{arm.worst} ({_percent(sum(lost))})" if sum(lost) > 0 else "–"
            rows.append(f"{arm.name:>12} {_percent(arm.underflow):>10} {_percent(arm.overflow):>9} {arm.skipped:>8} "
                        f"{arm.loss:>10.4g} {_seconds(arm.step):>10}  {place}")
        return "\n".join([*self.answers, "", *rows, "", f"{self.steps} steps, {self.way}"])

    @property
    def answers(self) -> list[str]:
        """Sentences, the most important first."""
        trained = [arm for arm in self.arms if math.isfinite(arm.loss)]
        if not trained:
            return ["No scale works: with each one the loss is not finite in the end. Try bfloat16, which needs none."]
        best = min(trained, key=lambda arm: (arm.skipped + arm.overflow > 0 and arm.name != "dynamic", arm.underflow))
        none = next((arm for arm in self.arms if arm.name == "none"), None)
        sentences = []
        if none and math.isfinite(none.loss) and none.underflow - best.underflow < 0.001:
            sentences.append("No scale is needed: without one, no more gradients are lost than with the best.")
        else:
            lost = f", {_percent(none.underflow)} without a scale" if none else ""
            sentences.append(f"{best.name} loses least: {_percent(best.underflow)} of the gradients underflow{lost}.")
        ratio = best.loss / self.float32_loss if self.float32_loss else math.nan
        sentences.append(f"Its loss after {self.steps} steps is {best.loss:.4g}, in float32 {self.float32_loss:.4g} "
                         f"({change_text(ratio)}).")
        for arm in self.arms:
            if not math.isfinite(arm.loss):
                sentences.append(f"{arm.name} ends with a loss that is not finite: do not train with it.")
            elif arm.skipped > self.steps // 2:
                sentences.append(f"{arm.name} skips {arm.skipped} of {self.steps} steps: it is too large.")
        return sentences


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _seconds(value: float) -> str:
    return f"{value * 1e3:.2f} ms"


class _Rounding:
    """Gradients that pass a layer as float16 would hold them, where the device computes in float32."""

    def __init__(self, torch: Any, network: Any) -> None:
        self.is_on = True
        for module in network.modules():
            if not any(True for _ in module.children()):
                module.register_full_backward_hook(lambda _, inputs, outputs: self._passed(torch, inputs))
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.register_hook(lambda gradient: self._rounded(torch, gradient))

    def _rounded(self, torch: Any, gradient: Any) -> Any:
        if not self.is_on or gradient is None or gradient.dtype != torch.float32:
            return gradient
        return gradient.to(torch.float16).to(torch.float32)

    def _passed(self, torch: Any, gradients: Any) -> Any:
        return tuple(self._rounded(torch, gradient) for gradient in gradients)


class _Half:
    """Half precision on a device: autocast to float16, or rounding where there is none."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.torch, self.device = torch, device
        self.has_autocast = device.type != "cpu" or self._cpu_computes_in_half()

    def _cpu_computes_in_half(self) -> bool:
        torch = self.torch
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                context = torch.autocast("cpu", dtype=torch.float16)
            with context:
                product = torch.ones(2, 2) @ torch.ones(2, 2)
        except (RuntimeError, TypeError, Warning):
            return False
        return bool(product.dtype == torch.float16)

    @property
    def way(self) -> str:
        if self.has_autocast:
            return "autocast to float16"
        return "computed in float32, gradients rounded to float16 after each layer"

    def context(self, is_on: bool) -> Any:
        if not (is_on and self.has_autocast):
            return contextlib.nullcontext()
        return self.torch.autocast(self.device.type, dtype=self.torch.float16)


class _Training:
    """A copy of the network, trained with one scale; None: in float32."""

    def __init__(self, torch: Any, network: Any, loss: Callable[[Any, int], Any], rate: float, half: _Half,
                 scale: Optional[Scale]) -> None:
        self.torch, self.loss, self.half, self.scale = torch, loss, half, scale
        self.network = copy.deepcopy(network).train()
        self.rounding = None if scale is None or half.has_autocast else _Rounding(torch, self.network)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=rate, momentum=0.9)
        self.losses: list[float] = []
        self.times: list[float] = []
        self.skipped = 0
        self.counts: dict[str, list[int]] = {}  # by layer: elements, underflows, overflows

    def run(self, steps: int) -> None:
        for step in range(steps):
            if self.scale is not None and step % LOOKED_AT == 0:
                self._look(step)
            self._wait()
            began = time.perf_counter()
            self._step(step)
            self._wait()
            self.times.append(time.perf_counter() - began)

    def _wait(self) -> None:
        if self.half.device.type == "cuda":
            self.torch.cuda.synchronize(self.half.device)

    def _backward(self, step: int, in_half: bool) -> float:
        """Leaves gradients that are scaled where they are in half precision; returns the loss."""
        if self.rounding:
            self.rounding.is_on = in_half
        self.optimizer.zero_grad(set_to_none=True)
        with self.half.context(in_half):
            loss = self.loss(self.network, step)
        factor = self.scale.value if in_half and self.scale else 1.0
        (loss.float() * factor).backward()
        return float(loss.detach())

    def _gradients(self) -> Iterator[tuple[str, Any]]:
        for name, parameter in self.network.named_parameters():
            if parameter.grad is not None:
                yield name, parameter.grad

    def _step(self, step: int) -> None:
        self.losses.append(self._backward(step, in_half=self.scale is not None))
        if self.scale is None:
            self.optimizer.step()
            return
        overflowed = not all(bool(self.torch.isfinite(gradient).all()) for _, gradient in self._gradients())
        for _, gradient in self._gradients():
            gradient /= self.scale.value
        if overflowed and self.scale.checks:
            self.skipped += 1
        else:
            self.optimizer.step()
        self.scale.update(overflowed)

    def _look(self, step: int) -> None:
        """Counts what is lost. Running averages, which each pass moves, are put back."""
        kept = {name: buffer.clone() for name, buffer in self.network.named_buffers()}
        self._backward(step, in_half=False)
        true = {name: gradient != 0 for name, gradient in self._gradients()}
        self._backward(step, in_half=True)
        for name, gradient in self._gradients():
            layer = name.rpartition(".")[0] or name
            count = self.counts.setdefault(layer, [0, 0, 0])
            count[0] += gradient.numel()
            count[1] += int(((gradient == 0) & true[name]).sum())
            count[2] += int((~self.torch.isfinite(gradient)).sum())
        for name, buffer in self.network.named_buffers():
            buffer.copy_(kept[name])

    @property
    def final_loss(self) -> float:
        return statistics.fmean(self.losses[-END:])

    def arm(self, name: str) -> LossScalingArm:
        assert self.scale is not None
        all_elements = sum(count[0] for count in self.counts.values())
        shares = {layer: LayerShares(count[1] / count[0], count[2] / count[0]) for layer, count in self.counts.items()}
        return LossScalingArm(name, self.skipped, sum(count[1] for count in self.counts.values()) / all_elements,
                              sum(count[2] for count in self.counts.values()) / all_elements, shares, self.final_loss,
                              statistics.median(self.times), self.scale.value)


def _name(scale: Union[str, float]) -> str:
    if isinstance(scale, str):
        return scale
    exponent = math.log2(scale)
    return f"2^{exponent:.0f}" if exponent == int(exponent) else f"{scale:g}"


def _check(torch: Any, model: Any, scales: Sequence[Union[str, float]], steps: int) -> None:
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"js.loss_scaling takes a torch.nn.Module, and this is a {type(model).__name__}")
    if steps < END:
        raise UsageError(f"steps: {END} or more, as the loss is the mean of the last {END}")
    for scale in scales:
        is_size = isinstance(scale, (int, float)) and math.isfinite(scale) and scale > 0
        if not is_size and scale not in ("none", "dynamic"):
            raise UsageError(f"scales: {scale!r} is neither 'none', 'dynamic' nor a number above zero")
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise UsageError("the model has no parameter that is trained")
    if any(parameter.dtype != torch.float32 for parameter in parameters):
        raise UsageError("the model's parameters have to be float32: autocast computes in float16 by itself")


def _resnet18(torch: Any, device: str) -> tuple[Any, Callable[[Any, int], Any]]:
    try:
        torchvision = importlib.import_module("torchvision")
    except ImportError as error:
        raise MissingError("without a model js.loss_scaling trains torchvision's resnet18, and torchvision is not "
                           "there: pip install torchvision, or hand in a model and its loss") from error
    network = torchvision.models.resnet18(num_classes=10).to(device)
    images = torch.randn(8, 32, 3, 64, 64, device=device)
    labels = torch.randint(10, (8, 32), device=device)

    def loss(model: Any, step: int) -> Any:
        return torch.nn.functional.cross_entropy(model(images[step % 8]), labels[step % 8])

    return network, loss


def loss_scaling(model: Any = None, loss: Optional[Callable[[Any, int], Any]] = None, *, steps: int = 100,
                 scales: Sequence[Union[str, float]] = ("none", 2.0**8, 2.0**16, 2.0**24, "dynamic"),
                 rate: float = 0.01, seed: int = 1, device: Optional[str] = None,
                 progress: Optional[Callable[[str], None]] = None) -> LossScaling:
    """Trains copies of `model` in half precision, one for each scale of the loss, beside one in float32.

    `loss(model, step)` is the loss of a step, as a tensor; it should depend on nothing else. Each copy is trained by
    SGD with momentum 0.9 and `rate`. Without a model it is torchvision's resnet18 on random images, on `device`
    ("cuda", "cpu"; without it the GPU where there is one). `progress` is told what is trained.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise MissingError("js.loss_scaling trains in PyTorch, but PyTorch is missing: pip install torch") from error
    if (model is None) != (loss is None):
        raise UsageError("js.loss_scaling takes a model together with its loss: loss_scaling(model, loss)")
    tell = progress or (lambda line: None)
    torch.manual_seed(seed)
    if model is None:
        model, loss = _resnet18(torch, device or ("cuda" if torch.cuda.is_available() else "cpu"))
    assert loss is not None
    _check(torch, model, scales, steps)
    half = _Half(torch, next(model.parameters()).device)

    def train(scale: Optional[Scale], name: str) -> _Training:
        tell(f"training with scale {name}" if scale else "training in float32")
        torch.manual_seed(seed)
        training = _Training(torch, model, loss, rate, half, scale)
        training.run(steps)
        return training

    reference = train(None, "")
    arms = [train(Scale(scale), _name(scale)).arm(_name(scale)) for scale in scales]
    return LossScaling(type(model).__name__, arms, reference.final_loss, statistics.median(reference.times), steps, half.way)


def _record(found: LossScaling) -> dict[str, Any]:
    """As the program reads it; a number that is not finite is left out."""

    def numbers(**values: float) -> dict[str, float]:
        return {key: value for key, value in values.items() if math.isfinite(value)}

    arms = [{"name": arm.name, "skipped": arm.skipped, "underflow": arm.underflow, "overflow": arm.overflow,
             "layers": [{"name": name, **shares._asdict()} for name, shares in arm.layers.items()],
             **numbers(loss=arm.loss, step_seconds=arm.step, scale=arm.scale)} for arm in found.arms]
    return {"model": found.model, "way": found.way, "steps": found.steps, "arms": arms, "answers": found.answers,
            **numbers(float32_loss=found.float32_loss, float32_step_seconds=found.float32_step)}


def train_asked(text: str, tell: Callable[[str], None]) -> dict[str, Any]:
    """Answers `jitterscope study loss-scaling`, which asks: {"callable": FILE:FUNCTION or "", "device": …, "seed": …}."""
    from ._targets import cases

    asked = json.loads(text)
    model, loss = None, None
    if asked["callable"]:
        found = cases(asked["callable"])
        given = found[0].make()() if len(found) == 1 else None
        if not isinstance(given, tuple) or len(given) != 2 or not callable(given[1]):
            raise UsageError(f"{asked['callable']}: a function is wanted that returns a torch.nn.Module and its "
                             "loss(model, step)")
        model, loss = given
    return _record(loss_scaling(model, loss, seed=asked["seed"], device=asked["device"], progress=tell))
