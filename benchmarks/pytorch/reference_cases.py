"""The convolutions of a file such as conv_reference.json, and each as a layer of PyTorch; shared by what runs them."""

import json

from jitterscope_run import give_up


def read(path):
    """The document, with its cases in "layers"."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        document["layers"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        give_up(f"{path} cannot be read: {error!r}")
    return document


def layer_of(torch, case):
    """(the layer, its input) on the current GPU."""
    shape, k, kernel, stride, pad, dilation, groups, bias = case["conv"]
    dtype = getattr(torch, case["dtype"].removeprefix("torch."))
    layout = torch.channels_last if case["channels_last"] else torch.contiguous_format
    torch.backends.cudnn.allow_tf32 = case["tf32"]
    torch.backends.cudnn.benchmark = case["benchmark"]
    layer = torch.nn.Conv2d(shape[1], k, kernel, stride, pad, dilation, groups, bool(bias))
    layer = layer.to("cuda", dtype).to(memory_format=layout)
    return layer, torch.randn(shape, device="cuda", dtype=dtype).to(memory_format=layout).requires_grad_()
