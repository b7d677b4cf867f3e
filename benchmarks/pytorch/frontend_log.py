"""Reads a log of cudnn-frontend as PyTorch writes it (CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=…).

Apart from the C++ importer on purpose: the comparison must not share its mistakes.
"""

import dataclasses
import re

DIRECTIONS = {"ConvFwd_": "fprop", "ConvBwdData_": "dgrad", "ConvBwdFilter_": "wgrad"}
DATA_TYPES = {"HALF": "f16", "BFLOAT16": "bf16", "DOUBLE": "f64"}


@dataclasses.dataclass
class Convolution:
    operation: str  # as jitterscope writes it, without an engine
    built: list  # tags in the order in which their plans were built
    took: list  # (tag, milliseconds) of benchmark=True, in the order tried

    @property
    def tag(self):
        """What PyTorch ran without benchmark: the last plan built before it was executed."""
        return self.built[-1] if self.built else ""


def numbers(text):
    return [int(number) for number in re.findall(r"-?\d+", text)]


def is_channels_last(dims, strides):
    """c10::is_channels_last_strides_2d: sizes of one do not decide."""
    if len(dims) != 4:
        return False
    least = 0
    if strides[1] == 0:
        return False
    for d in (1, 3, 2, 0):
        if dims[d] == 0 or strides[d] < least:
            return False
        if d == 0 and least == strides[1]:
            return False
        least = strides[d]
        if dims[d] > 1:
            least *= dims[d]
    return True


def describe(tensors, convolution, direction, float_type):
    x, y, w = tensors[120], tensors[121], tensors[119]
    (n, c, h, width), (k, per_group, r, s) = x["dims"], w["dims"]
    pad, dilation, stride = convolution
    # PyTorch makes all three alike; a shape of ones leaves open which layout it is.
    last = any(is_channels_last(t["dims"], t["strides"]) for t in (x, w, y))
    parts = [f"n={n},c={c},h={h},w={width},k={k},r={r},s={s}"]
    for name, (first, second) in (("stride", stride), ("pad", pad), ("dilation", dilation)):
        parts.append(f"{name}={first}x{second}")
    parts.append(f"groups={c // per_group},dtype={(DATA_TYPES | {'FLOAT': float_type})[x['type']]}")
    parts.append(f"layout={'nhwc' if last else 'nchw'},direction={direction}")
    return "conv2d:" + ",".join(parts)


def read(text, float_type):
    """All convolutions of a log, in their order. FLOAT, which may become TF32 or not, is float_type: no line says it."""
    found, tensors, current, tensor = [], {}, None, {}
    convolution = None
    for line in text.splitlines():
        if "Datatype: [" in line and "CONVOLUTION_DESCRIPTOR" not in line:
            tensor = {"type": re.search(r'\["(\w+)"\]', line).group(1)}
        elif line.strip().startswith("Id:"):
            tensors[numbers(line)[0]] = tensor
        elif line.strip().startswith("Dim ["):
            tensor["dims"] = numbers(line)
        elif line.strip().startswith("Str ["):
            tensor["strides"] = numbers(line)
        elif "CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR" in line:
            groups = re.search(r"PadLower \[(.*?)\].*Dilation \[(.*?)\] Stride \[(.*?)\]", line)
            convolution = [numbers(group) for group in groups.groups()]
        elif line.startswith("Tag: "):
            direction = DIRECTIONS.get(line[5:].strip())
            current = None
            if direction:
                current = Convolution(describe(tensors, convolution, direction, float_type), [], [])
                found.append(current)
        elif "EXECUTION_PLAN_DESCRIPTOR :" in line and current:
            current.built.append(re.search(r": (\w[^,]*),", line).group(1).strip())
        elif " took " in line and current:
            tag, time = re.search(r"Plan (\S+) took\s+([\d.e+-]+)", line).groups()
            current.took.append((tag, float(time)))
    return found
