"""A model of PyTorch with remedies applied to copies of it."""

from __future__ import annotations

import copy
from typing import Any, Callable, Optional, Sequence

from ._advise import Built, Remedy
from ._device import Device

_CONVERSION = "The model's original weights are gone; training in float16 needs torch.amp.GradScaler."
_GRAPH = "Shapes and addresses are fixed by the capture, and its memory stays in use."


def _types(torch: Any) -> dict[str, Any]:
    return {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def _autocast_line(kind: str, dtype: Any) -> str:
    """One that holds wherever the model is called: in a graph's recording, and behind torch.compile."""
    return f"model.forward = torch.autocast(\"{kind}\", dtype={dtype})(model.forward)"


def _is_image(value: Any) -> bool:
    return hasattr(value, "dim") and value.dim() == 4


def _tensors(value: Any) -> list[Any]:
    """All tensors of numbers in what a model returned."""
    if hasattr(value, "is_floating_point"):
        return [value] if value.is_floating_point() else []
    if isinstance(value, dict):
        return [tensor for each in value.values() for tensor in _tensors(each)]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    return []


class TorchWork:
    """The forward pass of a model without gradients."""

    def __init__(self, torch: Any, model: Any, inputs: Sequence[Any], device: Device) -> None:
        self.torch, self.model, self.inputs = torch, model, list(inputs)
        self.on_gpu = device.ordinal is not None
        self.dtype = next((each.dtype for each in model.parameters() if each.is_floating_point()), torch.float32)

    def remedies(self, goal: str) -> tuple[list[Remedy], list[dict[str, str]]]:
        left: list[Remedy] = []
        untried = [{"study": "engine", "reason": "PyTorch keeps the engines that a thread has chosen; write "
                                                 "torch.backends.cudnn.benchmark = True and compare two processes"}]
        left += self._types_to_try()
        if any(_is_image(each) for each in self.inputs):
            left.append(Remedy("layout", "nhwc", ["model = model.to(memory_format=torch.channels_last)",
                                                  "batch = batch.to(memory_format=torch.channels_last)"]))
        else:
            untried.append({"study": "layout", "reason": "no input has the four dimensions of images"})
        if hasattr(self.torch, "compile"):
            left.append(Remedy("fusion", "torch.compile", ["model = torch.compile(model)"],
                               "The first call of each shape compiles, which takes seconds to minutes."))
        else:
            untried.append({"study": "fusion", "reason": "this PyTorch has no torch.compile"})
        if self.on_gpu:
            left.append(Remedy("graph", "graph", ["graph = torch.cuda.CUDAGraph()",
                                                  "with torch.cuda.graph(graph): output = model(batch)",
                                                  "graph.replay()  # after batch.copy_(next_batch)"],
                               _GRAPH, comes_last=True))
        else:
            untried.append({"study": "graph", "reason": "a CPU runs each launch to its end"})
        if goal == "throughput":
            left += [Remedy("batch", f"×{times}", [f"batch_size *= {times}  # of the DataLoader"],
                            "A call takes longer, and memory for the activations grows.", work=times)
                     for times in (2, 4, 8, 16)]
        else:
            untried.append({"study": "batch", "reason": "a larger batch makes no call shorter (goal=\"throughput\")"})
        return left, untried

    def _types_to_try(self) -> list[Remedy]:
        left = []
        for name, dtype in _types(self.torch).items():
            if dtype != self.dtype and (self.on_gpu or name != "f16"):
                word = str(dtype)
                left.append(Remedy("precision", name, [f"model = model.to({word})", f"batch = batch.to({word})"],
                                   _CONVERSION if name != "f32" else ""))
        if self.dtype == self.torch.float32:
            if self.on_gpu:
                left.append(Remedy("precision", "tf32", ["torch.backends.cuda.matmul.allow_tf32 = True",
                                                         "torch.backends.cudnn.allow_tf32 = True"]))
                left.append(Remedy("precision", "autocast f16", [_autocast_line("cuda", self.torch.float16)],
                                   "Training in float16 needs torch.amp.GradScaler."))
            kind = "cuda" if self.on_gpu else "cpu"
            left.append(Remedy("precision", "autocast bf16", [_autocast_line(kind, self.torch.bfloat16)]))
        return left

    def build(self, taken: Sequence[Remedy]) -> Built:
        torch, names = self.torch, {each.study: each.arm for each in taken}
        model = copy.deepcopy(self.model) if names else self.model
        inputs = list(self.inputs)
        times = int(names.get("batch", "×1")[1:])
        if times > 1:
            inputs = [torch.cat([each] * times) if hasattr(each, "dim") and each.dim() > 0 else each for each in inputs]
        dtype = _types(torch).get(names.get("precision", ""))
        if dtype is not None:
            model = model.to(dtype)
            inputs = [each.to(dtype) if hasattr(each, "is_floating_point") and each.is_floating_point() else each
                      for each in inputs]
        if "layout" in names:
            model = model.to(memory_format=torch.channels_last)
            inputs = [each.to(memory_format=torch.channels_last) if _is_image(each) else each for each in inputs]
        if "fusion" in names:
            model = torch.compile(model)
        launch = self._launch(model, inputs, names.get("precision", ""))
        held = [*model.parameters(), *(each for each in inputs if hasattr(each, "numel"))]
        results, memory = self._try(launch, held, times)
        if "graph" in names:
            launch = self._captured(launch)
        return Built(launch, results, memory)

    def _launch(self, model: Any, inputs: list[Any], precision: str) -> Callable[[], Any]:
        torch = self.torch
        if precision.startswith("autocast"):
            inner = torch.autocast("cuda" if self.on_gpu else "cpu", dtype=_types(torch)[precision.split()[1]])

            def launch() -> Any:
                with torch.no_grad(), inner:
                    return model(*inputs)
        elif precision == "tf32":
            matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
            own = (matmul.allow_tf32, cudnn.allow_tf32)

            def launch() -> Any:
                matmul.allow_tf32 = cudnn.allow_tf32 = True
                try:
                    with torch.no_grad():
                        return model(*inputs)
                finally:
                    matmul.allow_tf32, cudnn.allow_tf32 = own
        else:
            def launch() -> Any:
                with torch.no_grad():
                    return model(*inputs)
        return launch

    def _try(self, launch: Callable[[], Any], held: list[Any], times: int) -> tuple[list[Any], Optional[float]]:
        """Its operations for the work's own number of samples, and the bytes that it takes at most with what it holds."""
        torch = self.torch
        if self.on_gpu:
            launch()  # loads what is loaded lazily, and compiles
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        output = launch()
        memory = None
        if self.on_gpu:
            torch.cuda.synchronize()
            own = sum(each.numel() * each.element_size() for each in held)
            memory = float(torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated() + own)
        # Every part of a repeated batch is the batch itself.
        results = [each[:each.shape[0] // times].double().cpu() if times > 1 and each.dim() > 0 else each.double().cpu()
                   for each in _tensors(output)]
        return results, memory

    def _captured(self, launch: Callable[[], Any]) -> Callable[[], Any]:
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                launch()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch()

        # The graph reads the model and the inputs where they are: they live as long as it does.
        def replay(_alive: Callable[[], Any] = launch) -> None:
            graph.replay()

        return replay
