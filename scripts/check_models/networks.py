"""One training step of each network in PyTorch, on tensors of the device `meta`, which have shapes and no data."""

import collections
import pathlib
import sys
from unittest import mock

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from check_models import operators

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "src" / "pytorch"))
import unet  # noqa: E402

CLASSES, BATCH, SIZE = 1000, 32, 224
# As PyTorch names them in torchvision: jitterscope's names differ in this one.
TORCHVISION = {"alexnet": "alexnet", "vgg16": "vgg16", "resnet18": "resnet18", "resnet50": "resnet50",
               "mobilenet_v2": "mobilenet_v2", "vit-b16": "vit_b_16"}
NAMES = (*TORCHVISION, "unet", "bert-base", "gpt2")


class Attention(torch.autograd.Function):
    """Stands for PyTorch's attention, which tensors without data would take apart into products."""

    @staticmethod
    def forward(context, q, k, v, causal, works):
        context.save_for_backward(q, k, v)
        context.rest = causal, works
        works[operators.attention("forward", q, causal)] += 1
        return torch.empty_like(q)

    @staticmethod
    def backward(context, _):
        q, k, v = context.saved_tensors
        causal, works = context.rest
        works[operators.attention("backward", q, causal)] += 1
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), None, None


def whole_attention(works):
    """In place of PyTorch's function while it lasts."""

    def attention(q, k, v, *_, is_causal=False, **__):
        return Attention.apply(q, k, v, is_causal, works)

    return mock.patch.object(F, "scaled_dot_product_attention", attention)


def described(value):
    if isinstance(value, torch.Tensor):
        return operators.Tensor(tuple(value.shape), tuple(value.stride()))
    return value


class Recorder(TorchDispatchMode):
    """Counts what runs below autograd, backward included."""

    def __init__(self, works):
        super().__init__()
        self.works = works

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        result = function(*arguments, **(named or {}))
        inputs = {a.name: a.default_value for a in function._schema.arguments if a.has_default_value()}
        inputs |= {a.name: value for a, value in zip(function._schema.arguments, arguments)} | (named or {})
        first = result[0] if isinstance(result, (tuple, list)) else result
        output = tuple(first.shape) if isinstance(first, torch.Tensor) else ()
        name = {"hardtanh_": "hardtanh"}.get(function._schema.name.split("::")[1], function._schema.name.split("::")[1])
        inputs = {key: described(value) for key, value in inputs.items()}
        self.works.update(operators.works_of(name, inputs, output))
        return result


def without_dropout(network):
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return network.train()


def images(network, batch, size):
    return network(torch.empty(batch, 3, size, size))


def classifier(name):
    import torchvision

    network = without_dropout(getattr(torchvision.models, name)())
    return lambda: F.cross_entropy(images(network, BATCH, SIZE), torch.empty(BATCH, dtype=torch.long))


def segmentation():
    network = unet.UNet(3, 2).train()
    return lambda: images(network, 4, 512).sum()


def bert():
    import transformers

    network = without_dropout(transformers.BertModel(transformers.BertConfig()))
    words = torch.empty(32, 128, dtype=torch.long)
    return lambda: network(words, attention_mask=None).pooler_output.sum()


def gpt2():
    import transformers

    # Its own activation takes eight operators; jitterscope runs one gelu and says so.
    configuration = transformers.GPT2Config(activation_function="gelu", use_cache=False)
    network = without_dropout(transformers.GPT2LMHeadModel(configuration))
    words = torch.empty(8, 1024, dtype=torch.long)

    # It looks at the values of positions to tell whether several texts share a row.
    alone = mock.patch("transformers.masking_utils.find_packed_sequence_indices", lambda _: None)

    def loss():
        with alone:
            logits = network(words).logits
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), words.view(-1))

    return loss


def run(name):
    """How often PyTorch runs each operation of one training step."""
    build = {"unet": segmentation, "bert-base": bert, "gpt2": gpt2}
    works = collections.Counter()
    with torch.device("meta"):
        step = build[name]() if name in build else classifier(TORCHVISION[name])
        with whole_attention(works), Recorder(works):
            step().backward()
    return works
