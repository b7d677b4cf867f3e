"""The forms that a judged file may have, and how both sides are called alike. It runs in the processes that the judge starts.

| form | a reference has | a candidate has |
|---|---|---|
| make | make(), which gives a function and its inputs | make(), which gives a function |
| kernelbench | class Model, get_inputs(), get_init_inputs() | class ModelNew |
| kernelbot | generate_input(), ref_kernel() | custom_kernel() |
| function | get_inputs() and a function | a function of this name |

Which one a reference has is read from its syntax tree, before any of it runs. Of what get_inputs() or generate_input()
give, shapes, types and ranges are taken; the judge draws values of its own.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import pathlib
import random
import sys
from typing import Any, Callable, Iterator, NamedTuple, Optional

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32"}
_HELPERS = {"get_inputs", "get_init_inputs", "get_work", "main"}
_MOST_SAMPLED, _MOST_NAMES = 65536, 200


class Names(NamedTuple):
    """Names that a file defines at its top, from its syntax tree."""
    functions: list[str]
    classes: list[str]
    others: list[str]  # assigned or imported

    def has(self, name: str) -> bool:
        return name in self.functions or name in self.classes or name in self.others


def _names_of(path: pathlib.Path) -> Names:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise ValueError(f"{path.name}, line {error.lineno}: {error.msg}") from None
    names = Names([], [], [])

    def look(statements: list[ast.stmt]) -> None:
        for each in statements:
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names.functions.append(each.name)
            elif isinstance(each, ast.ClassDef):
                names.classes.append(each.name)
            elif isinstance(each, (ast.Import, ast.ImportFrom)):
                names.others.extend((alias.asname or alias.name) for alias in each.names)
            elif isinstance(each, (ast.Assign, ast.AnnAssign)):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                names.others.extend(target.id for target in targets if isinstance(target, ast.Name))
            else:  # if, try, with: what they define counts, too
                for part in ("body", "orelse", "finalbody"):
                    look(getattr(each, part, []))
                for handler in getattr(each, "handlers", []):
                    look(handler.body)

    look(tree.body)
    return names


def _split(target: str) -> tuple[pathlib.Path, str]:
    """FILE.py:NAME or FILE.py, of which the name is empty."""
    place, colon, name = target.rpartition(":")
    return (pathlib.Path(place), name) if colon and not target.endswith(".py") else (pathlib.Path(target), "")


def _public_functions(names: Names) -> list[str]:
    return [name for name in names.functions if not name.startswith("_") and name not in _HELPERS]


def _only_function(names: Names) -> str:
    public = _public_functions(names)
    return public[0] if len(public) == 1 else ""


class Chosen(NamedTuple):
    form: str
    name: str


def _found_in(path: pathlib.Path, names: Names) -> str:
    kinds = (("class", "classes", names.classes), ("function", "functions", names.functions))
    has = [f"{one if len(found) == 1 else several} {', '.join(found[:8])}" for one, several, found in kinds if found]
    return f"{path.name} has {' and '.join(has) if has else 'neither a function nor a class'}"


def form_of_reference(target: str) -> Chosen:
    """Raises ValueError that says what is missing."""
    path, name = _split(target)
    names = _names_of(path)
    if name and not names.has(name):
        raise ValueError(f"{_found_in(path, names)}, and no {name}")
    if name in names.classes or (not name and "Model" in names.classes and "make" not in names.functions):
        if names.has("get_inputs"):
            return Chosen("kernelbench", name or "Model")
        raise ValueError(f"{path.name} has class {name or 'Model'} and no get_inputs(), which gives what forward() is called "
                         "with: KernelBench's form needs both")
    if names.has("generate_input"):
        if name or names.has("ref_kernel"):
            return Chosen("kernelbot", name or "ref_kernel")
        raise ValueError(f"{path.name} has generate_input() and no ref_kernel(): kernelbot's form needs both; or name the "
                         "function, FILE.py:NAME")
    if names.has("get_inputs") and name != "make" and not (not name and names.has("make")):
        chosen = name or _only_function(names)
        if chosen:
            return Chosen("function", chosen)
        raise ValueError(f"{_found_in(path, names)}: which one is right? Name it, FILE.py:NAME")
    if name or names.has("make"):
        return Chosen("make", name or "make")
    raise ValueError(f"{_found_in(path, names)}, and none of the forms: make(); class Model with get_inputs(); ref_kernel() with "
                     "generate_input(); or a function with get_inputs()")


def imports_torch(target: str) -> bool:
    """Whether any part of the file imports PyTorch, or Triton, which needs it."""
    modules: set[str] = set()
    for each in ast.walk(ast.parse(_split(target)[0].read_bytes())):
        if isinstance(each, ast.Import):
            modules.update(alias.name.split(".")[0] for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            modules.add((each.module or "").split(".")[0])
    return bool(modules & {"torch", "triton"})


def name_of_candidate(target: str, reference: Chosen) -> str:
    """Raises ValueError that says what is missing. A reference's own file is a candidate, too."""
    path, name = _split(target)
    names = _names_of(path)
    wanted = {"make": ["make"], "kernelbench": ["ModelNew", "Model"], "kernelbot": ["custom_kernel"],
              "function": []}[reference.form] + [reference.name]
    if reference.form == "function":
        wanted.append(_only_function(names))
    for each in [name] if name else wanted:
        if each and names.has(each):
            return each
    kinds = {"kernelbench": "class"}
    raise ValueError(f"{_found_in(path, names)}, and no {kinds.get(reference.form, 'function')} {name or wanted[0]}, which a "
                     f"candidate of the form {reference.form} needs")


def cases_of_task(target: str) -> list[dict[str, str]]:
    """The benchmarks of a task.yml beside the file: lines `- {"m": 64, "seed": 1}` below `benchmarks:`. Empty if none is."""
    path = _split(target)[0].with_name("task.yml")
    if not path.is_file():
        return []
    cases, is_inside = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line[:1].strip() and not line.startswith("-"):
            is_inside = line.split("#")[0].strip() == "benchmarks:"
        elif is_inside and line.strip().startswith("-"):
            text = line.strip()[1:].strip()
            try:
                case = json.loads(text)
            except ValueError:
                case = None
            if not isinstance(case, dict) or not all(isinstance(each, (int, float, str)) for each in case.values()):
                raise ValueError(f"{path.name}: {text!r} is no case like {{\"m\": 64}}; name cases with --cases")
            cases.append({key: str(value) for key, value in case.items() if key != "seed"})
    return [case for place, case in enumerate(cases) if case not in cases[:place]]


# Below: files are loaded, and what they have is called.


_OURS: set[str] = set()  # modules that were there before any judged file was loaded


def load(target: str) -> Any:
    """The file as a module. Folders of both sides are searched for what it imports."""
    if not _OURS:
        _OURS.update(sys.modules)
    path = _split(target)[0]
    for folder in (path.parent.parent, path.parent):
        sys.path.insert(0, str(folder))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


# PyTorch's settings for a whole process, which any file can change: getters with their setters, and attributes.
_FUNCTIONS = (("get_default_dtype", "set_default_dtype"), ("get_float32_matmul_precision", "set_float32_matmul_precision"),
              ("is_grad_enabled", "set_grad_enabled"), ("get_num_threads", "set_num_threads"),
              ("are_deterministic_algorithms_enabled", "use_deterministic_algorithms"))
_ATTRIBUTES = ("backends.cudnn.enabled", "backends.cudnn.benchmark", "backends.cudnn.deterministic", "backends.cudnn.allow_tf32",
               "backends.cuda.matmul.allow_tf32", "backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
               "backends.cuda.matmul.allow_bf16_reduced_precision_reduction")
_settings: dict[str, Any] = {}  # before the reference's file was loaded


def _settings_now() -> dict[str, Any]:
    """Those that this PyTorch has, and tells: it refuses some after others were set."""
    torch, found = sys.modules["torch"], {}
    for name in [getter for getter, _ in _FUNCTIONS] + list(_ATTRIBUTES):
        with contextlib.suppress(AttributeError, AssertionError, RuntimeError):
            value: Any = torch
            for part in name.split("."):
                value = getattr(value, part)
            found[name] = value if name in _ATTRIBUTES else value()
    return found


def load_reference(target: str) -> Any:
    """As load(), and remembers what PyTorch's settings were before."""
    if imports_torch(target):
        importlib.import_module("torch")
        _settings.update(_settings_now())
    return load(target)


def _restore_settings() -> None:
    """A candidate gets PyTorch as it is, not as the reference's file left it."""
    if not _settings:
        return
    torch = sys.modules["torch"]
    setters = dict(_FUNCTIONS)
    for name, value in _settings_now().items():
        if name not in _settings or value == _settings[name]:
            continue
        if name in setters:
            getattr(torch, setters[name])(_settings[name])
            continue
        *parts, last = name.split(".")
        owner: Any = torch
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, last, _settings[name])


def _forget_modules_of(folder: pathlib.Path) -> None:
    """Lets what lies beside a reference be imported anew: a candidate may have helpers of the same names, its own."""
    for name, module in list(sys.modules.items()):
        top, file = name.split(".", 1)[0], getattr(module, "__file__", None)
        if name in _OURS or not file:
            continue
        if any(pathlib.Path(file) == place / f"{top}.py" or place / top in pathlib.Path(file).parents
               for place in (folder, folder.parent)):
            del sys.modules[name]


def value_of(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Made(NamedTuple):
    """One side, ready to be called with arrays. `inputs` and `call` are the reference's, for both sides."""
    function: Callable[..., Any]
    exact: Callable[..., Any]  # of float64
    inputs: Optional[list[Any]] = None
    call: Optional[dict[str, Any]] = None
    work: Optional[dict[str, float]] = None
    weights_differ: str = ""


def _seed_all(seed: int) -> None:
    """Every generator that a file may draw from, as far as it has imported it."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed % 2**63)


def _no_gradients() -> Any:
    return sys.modules["torch"].no_grad() if "torch" in sys.modules else contextlib.nullcontext()


def _set_variables(module: Any, case: dict[str, Any], must: bool) -> None:
    for name, value in case.items():
        if hasattr(module, name):
            setattr(module, name, value)
        elif must:
            raise ValueError(f"there is no parameter and no variable {name!r} that a case could set")


def _call_for_inputs(module: Any, name: str, case: dict[str, Any]) -> Any:
    """A case's values are parameters of the function where it has such, else variables of the file."""
    function = getattr(module, name)
    taken = inspect.signature(function).parameters
    has_all = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values())
    given = {key: value for key, value in case.items() if has_all or key in taken}
    _set_variables(module, {key: value for key, value in case.items() if key not in given}, must=True)
    if "seed" in taken and "seed" not in given and taken["seed"].default is inspect.Parameter.empty:
        given["seed"] = 0
    _seed_all(0)
    return function(**given)


# Below: arguments. What is an array becomes an input of the judge's, or memory for an output; all else stays as it is.


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _describe(value: Any, place: int) -> dict[str, Any]:
    """Shape, type, and the family and scale of which the sample seems to be."""
    where = f"input {place}"
    word = str(value.dtype).replace("torch.", "")
    if word not in _DTYPES:
        raise ValueError(f"{where} is of {word}, which the judge cannot draw; it draws {', '.join(_DTYPES)}")
    described: dict[str, Any] = {"dtype": _DTYPES[word], "shape": [int(extent) for extent in value.shape]}
    flat = value.reshape(-1)
    sample = [float(each) for each in flat[::max(1, len(flat) // _MOST_SAMPLED)].tolist()]
    remedy = "write a make() that derives it from an input that is drawn"
    if not sample:
        raise ValueError(f"{where} is empty")
    if not all(math.isfinite(each) for each in sample):
        raise ValueError(f"{where} has values that are not finite, which the judge does not draw; {remedy}")
    low, high = min(sample), max(sample)
    if _DTYPES[word].startswith("i"):
        if low < 0:
            raise ValueError(f"{where} has integers below 0, and the judge draws from 0 on; {remedy}")
        if len(sample) > 2 and all(a < b for a, b in zip(sample, sample[1:])):
            raise ValueError(f"{where} has integers in ascending order, as offsets have, and the judge draws them at random; "
                             f"{remedy}")
        return {**described, "below": int(high) + 1}
    zeros = sum(each == 0.0 for each in sample)
    if low != high and len(sample) >= 64 and zeros > len(sample) / 10:
        raise ValueError(f"{100 * zeros // len(sample)} % of {where} is zero, as in a mask, and the judge draws all of it; {remedy}")
    if low >= 0.0 and high > 0.0:
        return {**described, "family": "uniform", "scale": float(f"{high:.2g}")}
    root = math.sqrt(sum(each * each for each in sample) / len(sample))
    return {**described, "family": "normal", "scale": float(f"{root:.2g}") if root > 0.0 else 1.0}


class _Arguments:
    """Takes what a call is given apart, and puts it together of other arrays."""

    def __init__(self) -> None:
        self.samples: list[Any] = []

    def taken_apart(self, value: Any) -> Any:
        if _is_array(value):
            self.samples.append(value)
            return {"input": len(self.samples) - 1}
        if isinstance(value, (list, tuple)):
            return {"list" if isinstance(value, list) else "tuple": [self.taken_apart(each) for each in value]}
        if isinstance(value, dict):
            return {"dict": [[key, self.taken_apart(each)] for key, each in value.items()]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        raise ValueError(f"an argument is a {type(value).__name__}; arrays, numbers, words, and lists or dicts of such can be given "
                         "to both sides")


def _put_together(part: Any, arrays: Any, memory: Callable[[dict[str, Any]], Any]) -> Any:
    (kind, value), = part.items()
    if kind == "input":
        return arrays[value]
    if kind == "memory":
        return memory(value)
    if kind in ("list", "tuple"):
        each = [_put_together(one, arrays, memory) for one in value]
        return each if kind == "list" else tuple(each)
    return {key: _put_together(one, arrays, memory) for key, one in value} if kind == "dict" else value


def _memory_like(is_float64: bool, device: str) -> Callable[[dict[str, Any]], Any]:
    """Memory for outputs that both sides are given: the same one in each call, as a caller's is."""
    kept: dict[str, Any] = {}

    def memory(description: dict[str, Any]) -> Any:
        name = str(description)
        if name not in kept:
            library = importlib.import_module(description["library"])
            is_widened = is_float64 and not description["dtype"].startswith("int")
            dtype = getattr(library, "float64" if is_widened else description["dtype"])
            placed = {"device": device} if description["library"] == "torch" else {}
            kept[name] = library.zeros(description["shape"], dtype=dtype, **placed)
        return kept[name]
    return memory


def _called_with(function: Callable[..., Any], arguments: Any, device: str, is_float64: bool = False) -> Callable[..., Any]:
    memory = _memory_like(is_float64, device)

    def call(*arrays: Any) -> Any:
        with _no_gradients():
            return function(*_put_together(arguments, arrays, memory))
    return call


def _shares_memory(a: Any, b: Any) -> bool:
    if hasattr(a, "data_ptr"):
        return hasattr(b, "data_ptr") and bool(a.storage().data_ptr() == b.storage().data_ptr())
    return not hasattr(b, "data_ptr") and bool(sys.modules["numpy"].shares_memory(a, b))


def _same(a: Any, b: Any) -> bool:
    return bool((a == b).all())


def _arrays_in(result: Any) -> Iterator[Any]:
    for each in result if isinstance(result, (list, tuple)) else [result]:
        if _is_array(each):
            yield each


def _memories_among(samples: list[Any], call: Callable[..., Any]) -> set[int]:
    """Which arrays are there to be written: the reference returns them, and does not read them. What it reads and writes
    cannot be judged: behind each call the judge looks whether inputs are as they were."""
    before = [copy.deepcopy(each) for each in samples]
    given = [copy.deepcopy(each) for each in samples]
    results = list(_arrays_in(call(*given)))
    returned = {place for place, each in enumerate(given) if any(_shares_memory(each, result) for result in results)}
    kept = [copy.deepcopy(result) for result in results]
    written = {place for place, each in enumerate(given) if not _same(each, before[place])}
    memories = set()
    for place in written | returned:
        other = [copy.deepcopy(each) for each in before]
        other[place] = other[place] * 0 + 3
        if place in returned and all(_same(a, b) for a, b in zip(kept, _arrays_in(call(*other)))):
            memories.add(place)
        elif place in written:
            raise ValueError(f"the reference changes its input {place}, which the judge compares behind each call; let it write "
                             "to memory of its own")
    return memories


def _renumbered(part: Any, samples: list[Any], memories: set[int]) -> Any:
    (kind, value), = part.items()
    if kind == "input":
        if value not in memories:
            return {"input": value - sum(place < value for place in memories)}
        sample = samples[value]
        return {"memory": {"library": "torch" if hasattr(sample, "data_ptr") else "numpy", "shape": list(sample.shape),
                           "dtype": str(sample.dtype).replace("torch.", "")}}
    if kind in ("list", "tuple"):
        return {kind: [_renumbered(one, samples, memories) for one in value]}
    return {kind: [[key, _renumbered(one, samples, memories)] for key, one in value]} if kind == "dict" else part


# Below: KernelBench's weights, which both sides draw from the same seed.


def _weights_of(model: Any) -> dict[str, Any]:
    """Names and shapes of the first parameters and buffers, and a digest of all of them with their values."""
    digest = hashlib.blake2b(digest_size=16)
    names: list[list[Any]] = []
    for name, value in model.state_dict().items():
        if not hasattr(value, "detach"):
            continue
        torch = sys.modules["torch"]
        flat = value.detach().cpu().contiguous().reshape(-1)
        digest.update(f"{name} {list(value.shape)} {value.dtype}".encode())
        digest.update(memoryview((flat.view(torch.int16) if flat.dtype == torch.bfloat16 else flat).numpy()).cast("B"))
        if len(names) < _MOST_NAMES:
            names.append([name, list(value.shape)])
    return {"names": names, "digest": digest.hexdigest()}


def _difference(reference: dict[str, Any], candidate: dict[str, Any]) -> str:
    """How a candidate's weights differ from the reference's; empty if they are equal."""
    theirs = {name: shape for name, shape in candidate["names"]}
    for name, shape in reference["names"]:
        if name not in theirs:
            return f"{name} is missing"
        if theirs[name] != shape:
            return f"{name} is {theirs[name]} where the reference has {shape}"
    names = {name for name, _ in reference["names"]}
    for name in theirs:
        if name not in names and len(reference["names"]) < _MOST_NAMES:
            return f"{name} is one that the reference lacks"
    return "" if reference["digest"] == candidate["digest"] else "their values differ, though both sides have the same seed"


def _placed(value: Any, device: str) -> Any:
    """On the device that is judged: files of KernelBench make arrays and models on the processor."""
    return value.to(device) if device != "cpu" and hasattr(value, "to") else value


def _model(module: Any, name: str, init: Any, seed: int, device: str) -> Any:
    _seed_all(seed)
    arguments = _put_together(init, [], lambda _: None)
    made = getattr(module, name)(**arguments) if isinstance(arguments, dict) else getattr(module, name)(*arguments)
    if not callable(made):
        raise ValueError(f"{name}() gives nothing that can be called")
    return _placed(made, device)


# Below: both sides.


def _work_of(module: Any, case: dict[str, Any]) -> Optional[dict[str, float]]:
    return _checked_work(_call_for_inputs(module, "get_work", case)) if hasattr(module, "get_work") else None


def _checked_work(work: Any) -> dict[str, float]:
    known = {"flops", "bytes"}
    if not isinstance(work, dict) or not work or set(work) - known or not all(
            isinstance(each, (int, float)) and math.isfinite(each) and each > 0 for each in work.values()):
        raise ValueError("the work of a call is {\"flops\": …, \"bytes\": …}, each above 0, and either may be left out")
    return {key: float(value) for key, value in work.items()}


def make_reference(module: Any, target: str, case: dict[str, str], seed: int, device: str = "cpu") -> Made:
    """`seed` is that of the weights. Raises ValueError that says what is missing."""
    chosen = form_of_reference(target)
    values = {name: value_of(text) for name, text in case.items()}
    call: dict[str, Any] = {"form": chosen.form, "name": chosen.name, "folder": str(_split(target)[0].parent)}
    if chosen.form == "make":
        made = getattr(module, chosen.name)(**values)
        if not isinstance(made, tuple) or len(made) not in (2, 3) or not callable(made[0]):
            raise ValueError("a reference's make() returns its function and its inputs: return function, [shape, …]")
        return Made(made[0], made[0], list(made[1]), call, _checked_work(made[2]) if len(made) == 3 else None)
    inputs = _call_for_inputs(module, "generate_input" if chosen.form == "kernelbot" else "get_inputs", values)
    arguments = _Arguments()
    # A kernelbot function has one parameter, whatever that is made of.
    taken_apart = arguments.taken_apart((inputs,) if chosen.form == "kernelbot" else tuple(inputs))
    function = getattr(module, chosen.name)
    exact = function
    if chosen.form == "kernelbench":
        given: Any = getattr(module, "get_init_inputs", list)()
        of_init = _Arguments()
        call["init"] = of_init.taken_apart(given)
        if of_init.samples:
            raise ValueError("get_init_inputs() gives an array; numbers, words, and lists or dicts of such are given to both sides")
        function = _model(module, chosen.name, call["init"], seed, device)
        call["weights"] = _weights_of(function)
        exact = copy.deepcopy(function).double()
    samples = [_placed(each, device) for each in arguments.samples]
    memories = _memories_among(samples, _called_with(function, taken_apart, device))
    call["arguments"] = _renumbered(taken_apart, samples, memories)
    drawn = [each for place, each in enumerate(samples) if place not in memories]
    return Made(_called_with(function, call["arguments"], device), _called_with(exact, call["arguments"], device, True),
                [_describe(each, place) for place, each in enumerate(drawn)], call, _work_of(module, values))


def make_candidate(target: str, case: dict[str, str], call: dict[str, Any], seed: int, device: str = "cpu") -> Made:
    """Makes a candidate, which is called as the reference says. Raises ValueError that says what is missing."""
    name = name_of_candidate(target, Chosen(call["form"], call["name"]))
    sys.path.insert(0, call["folder"])
    _forget_modules_of(pathlib.Path(call["folder"]))
    _restore_settings()
    module = load(target)
    values = {key: value_of(text) for key, text in case.items()}
    if call["form"] == "make":
        made = getattr(module, name)(**values)
        made = made[0] if isinstance(made, tuple) and made else made  # a reference judged as a candidate
        if not callable(made):
            raise ValueError("make() returns no function")
        return Made(made, made)
    _set_variables(module, values, must=False)
    function, difference = getattr(module, name), ""
    if call["form"] == "kernelbench":
        function = _model(module, name, call["init"], seed, device)
        state = getattr(function, "state_dict", None)
        difference = _difference(call["weights"], _weights_of(function)) if state else "it is no torch.nn.Module"
    called = _called_with(function, call["arguments"], device)
    return Made(called, called, weights_differ=difference)
