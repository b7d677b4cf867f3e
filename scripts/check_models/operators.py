"""PyTorch's operators as the tuples of listing.py."""

import dataclasses
import math

from check_models import listing


@dataclasses.dataclass
class Tensor:
    shape: tuple
    strides: tuple

    @property
    def count(self):
        return math.prod(self.shape)

    def is_transposed(self):
        """A view of a dense matrix whose last two dimensions are swapped."""
        rows, columns = self.shape[-2:]
        across, along = self.strides[-2:]
        return not (along == 1 or columns == 1) and (across == 1 or rows == 1)


def pair(values):
    values = list(values)
    return tuple(values if len(values) == 2 else values * 2)


def window_of(inputs, x, weight):
    """A convolution's sizes; a transposed one is the gradient of the one that goes the other way."""
    around = [pair(inputs[name]) for name in ("stride", "padding", "dilation")]
    return (*x.shape, weight.shape[0], *weight.shape[2:], *around, inputs["groups"])


def convolution(inputs, output):
    x, weight = inputs.get("self", inputs.get("input")), inputs["weight"]
    if inputs.get("transposed"):
        yield listing.conv("dgrad", *window_of(inputs, Tensor(output, ()), weight))
    else:
        yield listing.conv("fprop", *window_of(inputs, x, weight))
    if inputs.get("bias"):
        yield ("bias_add", "forward", math.prod(output))


def convolution_backward(inputs, _):
    dy, x, weight = inputs["grad_output"], inputs["input"], inputs["weight"]
    transposed = inputs["transposed"]
    directions = ("fprop", "wgrad") if transposed else ("dgrad", "wgrad")
    for direction, wanted in zip(directions, inputs["output_mask"]):
        if wanted:
            yield listing.conv(direction, *window_of(inputs, dy if transposed else x, weight))


def product(a, b, bias):
    *batch, m, k = a.shape
    return listing.product(math.prod(batch), m, b.shape[-1], k, a.is_transposed(), b.is_transposed(), bias)


def pool(kind, direction, x, window):
    return (kind, direction, *x.shape, tuple(window))


def addition(inputs, _):
    a, b = inputs["self"], inputs["other"]
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)) or a.count <= 1 or b.count <= 1:
        return
    yield ("add", a.count) if a.count == b.count else ("bias_add", "forward", max(a.count, b.count))


def mean(inputs, _):
    x = inputs["self"]
    if len(x.shape) == 4:  # torch.nn.AdaptiveAvgPool2d(1)
        yield pool("avg_pool", "forward", x, x.shape[2:])


def adaptive_average(inputs, output):
    x = inputs["self"]
    yield pool("avg_pool", "forward", x, (size // out for size, out in zip(x.shape[2:], output[2:])))


def rows(kind, direction, x, columns):
    return (kind, direction, x.count // columns, columns)


def embedding_backward(inputs, output):
    indices = inputs["indices"]
    yield ("embedding", "backward", indices.count, *output)


def attention(direction, q, causal):
    batch, heads, queries, dim = q.shape
    return ("attention", direction, batch, heads, queries, dim, bool(causal))


def one(function):
    return lambda inputs, output: [function(inputs, output)]


def elementwise(kind, name="self"):
    return one(lambda inputs, _: (kind, inputs[name].count))


def normalization(kind, direction, name):
    return one(lambda inputs, _: (kind, direction, inputs[name].count))


OPERATORS = {
    "cudnn_convolution": convolution,
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "addmm": one(lambda inputs, _: product(inputs["mat1"], inputs["mat2"], True)),
    "mm": one(lambda inputs, _: product(inputs["self"], inputs["mat2"], False)),
    "bmm": one(lambda inputs, _: product(inputs["self"], inputs["mat2"], False)),
    "cudnn_batch_norm": normalization("batch_norm", "forward", "input"),
    "native_batch_norm": normalization("batch_norm", "forward", "input"),
    "cudnn_batch_norm_backward": normalization("batch_norm", "backward", "input"),
    "native_batch_norm_backward": normalization("batch_norm", "backward", "input"),
    "max_pool2d_with_indices": one(
        lambda inputs, _: pool("max_pool", "forward", inputs["self"], pair(inputs["kernel_size"]))),
    "max_pool2d_with_indices_backward": one(
        lambda inputs, _: pool("max_pool", "backward", inputs["self"], pair(inputs["kernel_size"]))),
    "mean": mean,
    "_adaptive_avg_pool2d": adaptive_average,
    "add": addition,
    "add_": addition,
    "relu": elementwise("relu"),
    "relu_": elementwise("relu"),
    "threshold_backward": elementwise("relu_backward"),
    "hardtanh": elementwise("relu6"),
    "hardtanh_backward": elementwise("relu6_backward"),
    "tanh": elementwise("tanh"),
    "tanh_backward": elementwise("tanh_backward", "output"),
    "gelu": elementwise("gelu"),
    "gelu_backward": elementwise("gelu_backward"),
    "_log_softmax": one(lambda inputs, _: rows("log_softmax", "forward", inputs["self"], inputs["self"].shape[-1])),
    "_log_softmax_backward_data": one(
        lambda inputs, _: rows("log_softmax", "backward", inputs["output"], inputs["output"].shape[-1])),
    "native_layer_norm": one(
        lambda inputs, _: rows("layer_norm", "forward", inputs["input"], inputs["input"].shape[-1])),
    "native_layer_norm_backward": one(
        lambda inputs, _: rows("layer_norm", "backward", inputs["input"], inputs["input"].shape[-1])),
    "embedding": one(lambda inputs, _: ("embedding", "forward", inputs["indices"].count, *inputs["weight"].shape)),
    "embedding_dense_backward": embedding_backward,
    "_scaled_dot_product_cudnn_attention": one(
        lambda inputs, _: attention("forward", inputs["query"], inputs["is_causal"])),
    "_scaled_dot_product_cudnn_attention_backward": one(
        lambda inputs, _: attention("backward", inputs["query"], inputs["is_causal"])),
}


def works_of(name, inputs, output):
    """What one operator does: nothing for those that are views or are not compared."""
    return list(OPERATORS[name](inputs, output)) if name in OPERATORS else []
