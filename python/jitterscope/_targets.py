"""Targets `python:…` of the command line: FILE, FILE:FUNCTION, MODULE:FUNCTION, a benchmark's cases by
FILE:FUNCTION[n=512], or a pickled callable."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import pickle
import re
import sys
from typing import Any, Callable, NamedTuple, Optional

from ._benchmark import Benchmark, Case
from ._errors import UsageError

PICKLED = ".pickle"


def _load_file(path: pathlib.Path) -> Any:
    """As `python3 FILE` would find its neighbours, but `__name__` is the file's."""
    full = path.resolve()
    if str(full.parent) not in sys.path:
        sys.path.insert(0, str(full.parent))
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(full):
        return known
    # A file named after a module that is there would take its place for all who import it.
    found = importlib.util.find_spec(path.stem) if path.stem.isidentifier() else None
    name = path.stem if found is not None and found.origin == str(full) else f"_benchmarks_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, full)
    if specification is None or specification.loader is None:
        raise UsageError(f"{path}: this is no Python file")
    loaded = importlib.util.module_from_spec(specification)
    sys.modules[name] = loaded
    specification.loader.exec_module(loaded)
    return loaded


def _load(place: str) -> Any:
    path = pathlib.Path(place)
    if path.is_file():
        return _load_file(path)
    if place.endswith(".py") or "/" in place:
        raise UsageError(f"{place}: this file does not exist; check the path and the folder you are in")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place.split(".")[0] and error.name != place:
            raise
        raise UsageError(f"{place} is neither a file nor a module that Python finds") from error


def _find(loaded: Any, place: str, name: str) -> Any:
    found = loaded
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        names = [key for key, value in vars(loaded).items() if callable(value) and not key.startswith("_")]
        raise UsageError(f"{place} has no function {name}; it has {', '.join(names[:8]) or 'none'}")
    return found


def _cases_of(found: Callable[..., Any], name: str) -> list[Case]:
    if isinstance(found, Benchmark):
        return list(found.cases())
    return [Case(name, lambda: found)]


class _Parts(NamedTuple):
    place: str
    name: str  # of the function; empty for all of a file
    chosen: str  # what stands in brackets


def _parts(target: str) -> _Parts:
    if pathlib.Path(target).is_file():
        return _Parts(target, "", "")
    found = re.fullmatch(r"(.*?):([\w.]+)\[(.+)\]", target)
    if found:
        return _Parts(*found.groups())
    if target.endswith("]"):
        raise UsageError(f"{target}: brackets choose cases of a benchmark, as 'python:FILE:FUNCTION[n=512]'")
    place, _, name = target.rpartition(":") if ":" in target else (target, "", "")
    return _Parts(place, name, "")


def _chosen(found: Callable[..., Any], name: str, text: str) -> list[Case]:
    """A benchmark's cases that have these values: `n=512`, `n=512,dtype=half`."""
    if not isinstance(found, Benchmark):
        raise UsageError(f"{name}[{text}]: {name} is no benchmark and has no cases; leave the brackets out")
    listed = list(found.cases())
    # A value may hold commas: all of a case's own text is taken as it is.
    exact = [case for case in listed if case.in_brackets == f"[{text}]"]
    if exact:
        return exact
    wanted = dict(part.strip().partition("=")[::2] for part in text.split(","))
    for key, value in wanted.items():
        if key not in found.parameters:
            raise UsageError(f"{name}[{text}]: {name} has no parameter {key!r}; it has {', '.join(found.parameters) or 'none'}")
        if value not in map(str, found.parameters[key]):
            raise UsageError(f"{name}[{text}]: {key} is one of {', '.join(map(str, found.parameters[key]))}")
    return [case for case in listed if all(str(case.parameters[key]) == value for key, value in wanted.items())]


def only_case(target: str) -> Case:
    """The one function that a target names. Raises UsageError with a target of one where it has several."""
    found = cases(target)
    if len(found) == 1:
        return found[0]
    first = f"python:{_parts(target).place}:{found[0].benchmark}{found[0].in_brackets}" if found else ""
    raise UsageError(f"{target} has {len(found)} cases, and one is taken at a time"
                     + (f": name it, as '{first}'" if first else "; give its parameters values"))


def cases(target: str) -> list[Case]:
    """All that a target names, without "python:". Raises UsageError, and what the file raises."""
    if not target:
        raise UsageError("python: names nothing to time; write python:FILE, python:FILE:FUNCTION or python:MODULE:FUNCTION")
    if target.endswith(PICKLED):
        with open(target, "rb") as file:
            return _cases_of(pickle.load(file), pathlib.Path(target).stem)
    place, name, chosen = _parts(target)
    loaded = _load(place)
    if name:
        function = _find(loaded, place, name)
        return _chosen(function, name, chosen) if chosen else _cases_of(function, name)
    found = [case for value in vars(loaded).values() if isinstance(value, Benchmark) for case in value.cases()]
    if not found:
        raise UsageError(f"{place} has no @jitterscope.benchmark; name a function, as python:{place}:FUNCTION")
    return found


def target_of(function: Any, folder: pathlib.Path, taken: set[str]) -> str:
    """A target that a fresh process finds: "module:function" as it is, another callable pickled into the folder."""
    if isinstance(function, str):
        return function
    if not callable(function):
        raise UsageError(f"compare takes functions, or 'module:function', and not {type(function).__name__}")
    found = _importable(function)
    if found is not None:
        return found
    name = str(getattr(function, "__name__", type(function).__name__))
    while name in taken:
        name += "'"
    taken.add(name)
    path = folder / (name + PICKLED)
    try:
        path.write_bytes(pickle.dumps(function))
    except Exception as error:
        raise UsageError(f"{name} cannot be handed to another process ({error}): define it at the top of a file, or "
                         "name it as 'module:function'") from error
    return str(path)


def _importable(function: Any) -> Optional[str]:
    """FILE:FUNCTION of one that its file has at its top, also where that file is the program itself."""
    file = getattr(sys.modules.get(getattr(function, "__module__", "")), "__file__", None)
    name = getattr(function, "__qualname__", "")
    if file is None or not file.endswith(".py") or not name.isidentifier():
        return None
    is_there = getattr(sys.modules[function.__module__], name, None) is function
    return f"{file}:{name}" if is_there else None
