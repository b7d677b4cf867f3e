"""PyTorch's execution traces of one training step (torch.profiler.ExecutionTraceObserver, schema 1.1.1)."""

import collections
import gzip
import json

from check_models import listing, operators

CONVOLUTIONAL = ("conv2d", "product", "batch_norm", "max_pool", "add", "relu", "relu_backward", "relu6",
                 "relu6_backward", "log_softmax")
TRANSFORMER = ("product", "layer_norm", "embedding", "attention", "gelu", "gelu_backward", "add", "bias_add", "tanh")

# Recorded around the operators that they call.
WRAPPERS = {"convolution"}
# The recorded step takes its loss from the last layer, so that no gradient reaches the pooler.
POOLER = collections.Counter(
    [listing.product(1, 8, 768, 768, 0, 0, 0), listing.product(1, 768, 768, 8, 1, 0, 0)])
NOTHING = collections.Counter()
# Trace, the same network by name, what is compared, and what the trace leaves out.
CASES = (
    ("resnet18_et.json.gz", "resnet18:batch=16", CONVOLUTIONAL, NOTHING),
    ("resnet50_et.json.gz", "resnet50:batch=32", CONVOLUTIONAL, NOTHING),
    ("mobilenet_v2_et.json.gz", "mobilenet_v2", CONVOLUTIONAL, NOTHING),
    ("bert_et.json.gz", "bert-base:batch=8,layers=2,dtype=bf16", TRANSFORMER, POOLER),
)


def parameter_names(schema):
    """Of `aten::mm(Tensor self, Tensor mat2) -> Tensor`: self, mat2. Defaults may hold commas in brackets."""
    inside = schema[schema.index("(") + 1 : schema.index(") ->")]
    names, depth, piece = [], 0, ""
    for character in inside + ",":
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            word = piece.split("=")[0].split()
            if word and word[0] != "*":
                names.append(word[-1])
            piece = ""
        else:
            piece += character
    return names


def inputs_of(node):
    schema = next(attribute["value"] for attribute in node["attrs"] if attribute["name"] == "op_schema")
    recorded = node["inputs"]
    rows = zip(recorded["values"], recorded["shapes"], recorded["types"], recorded["strides"])
    result = {}
    for name, (value, shape, kind, strides) in zip(parameter_names(schema), rows):
        is_tensor = kind.startswith("Tensor(")
        result[name] = operators.Tensor(tuple(shape), tuple(strides)) if is_tensor else value
    return result


def read(trace):
    """How often a trace runs each operation."""
    with gzip.open(trace) as stream:
        nodes = json.load(stream)["nodes"]
    works = collections.Counter()
    for node in nodes:
        name = node["name"].removeprefix("aten::")
        if name != node["name"] and name in operators.OPERATORS and name not in WRAPPERS:
            shapes = node["outputs"]["shapes"]
            works.update(operators.works_of(name, inputs_of(node), tuple(shapes[0]) if shapes else ()))
    return works
