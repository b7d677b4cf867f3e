"""What the README and the pages of docs/ tell one to type can be typed: each command is understood, and each C++ and
CMake block compiles as it stands. A block that cannot be tried says so by <!-- not run: reason --> before it."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from markdown_blocks import blocks_of, commands_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
COMPILER = os.environ.get("CXX") or "c++"
NVCC = os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
# Files of the reader's own that the pages speak of, and what stands in for them.
STAND_INS = {
    "examples": "examples", "presets": "presets", "model.json": "examples/model.json",
    "trace.json.gz": "tests/data/resnet18_et.json.gz", "trace.json": "tests/data/resnet18_et.json.gz",
    "execution_trace.json": "tests/data/resnet18_et.json.gz",
    "model.onnx": "tests/data/mobilenet_v2.onnx.gz", "frontend.log": "tests/data/resnet18_cudnn_frontend_heur.log",
    "my-gpu.toml": "presets/quiet.toml", "slow-gpu.toml": "presets/h200.toml", "tests": "tests",
    "mine.cu": "tests/judge/gpu_corpus/row_times_matrix.cu",
}
DONE, MISSING = 0, 3  # exit codes
# The Python module of this tree, which judge asks for the form of a file.
FOR_PYTHON = {"PYTHONPATH": str(ROOT / "python"),
              "JITTERSCOPE_LIBRARY": str(pathlib.Path(PROGRAM).resolve().parent.parent / "lib/libjitterscope.so")}
DRY = {"run", "collectives", "judge", "compare", "study", "advise", "gate", "explain", "methods", "doctor", "selftest"}
RECORDS = ["result.json", "resnet18.json", "monday.json", "tuesday.json", "wednesday.json", "before.json", "after.json", "why.json", "relu.json", "add.json",
           "gpu0.json", "gpu1.json", "gpu2.json"]

COLLECTIVES = "all_reduce|reduce_scatter|all_gather|broadcast|reduce|all_to_all|send_recv|send"
# Variables that one of its processes sets for another; nobody else does.
OF_THE_PROGRAM_ITSELF = {"JITTERSCOPE_CAPTURE", "JITTERSCOPE_CAPTURE_SETTINGS", "JITTERSCOPE_KERNEL_FOLDER",
                         "JITTERSCOPE_LOCAL_RANK", "JITTERSCOPE_MEETING_POINT", "JITTERSCOPE_RANK", "JITTERSCOPE_RANKS"}


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def cheap(words):
    """The same command so that it measures nothing: a simulated GPU, a plan in place of a measurement."""
    words = [PROGRAM, *words[1:]]
    command = words[1]
    if command == "collectives" or re.match(rf"({COLLECTIVES}):", " ".join(words[2:3])):  # between ranks
        words = [*words, "--dry-run"] if "--device" in words else [*words, "--device", "virtual:cluster-2xh200", "--dry-run"]
        return words if command == "collectives" or "--local" in words else [*words, "--local", "2"]
    if command == "judge" and "--replay" in words:  # a record of the reader's own
        return [*words, "--help"]
    if command in {"compare", "explain"} and sum(word in RECORDS for word in words[2:]) >= 2:
        return words  # they are read, and nothing is measured
    if command in {"run", "compare", "study", "advise", "explain", "methods", "doctor"}:
        if "--device" in words:
            value = words.index("--device") + 1
            if words[value].startswith("cuda"):
                words[value] = "cpu" if "loss-scaling" in words else "virtual:quiet"
        else:
            # A simulated GPU gives no memory and runs no program's code.
            needs_host = any(word.startswith(("allocation:", "python:")) for word in words)
            words += ["--device", "cpu" if needs_host else "virtual:quiet"]
    if command in DRY and not {"--dry-run", "--list", "--help"} & set(words):
        words.append("--dry-run")
    if command == "history" and words[2] == "rm":  # other examples read what it would remove
        words.append("--help")
    if words[1:3] == ["capture", "show"] and "--step" in words:  # the trace has no steps
        words.append("--help")
    if command == "capture" and "--" in words:  # flags are ours, and the program is the reader's own
        words = [*words[:words.index("--") + 1], "true"]
    if command == "replay":  # two of many operations, once each
        words += [] if "--device" in words else ["--device", "virtual:quiet"]
        words = [*(word for word in words if word not in ("--top", "all")), "--top", "2"]
        words += [] if "--processes" in words else ["--processes", "1"]
    if command == "engines":  # only a real GPU has plans
        words += [] if "--device" in words else ["--device", "cuda"]
        words += [] if "--list" in words else ["--list"]
    if command == "verify-pytorch":
        if "--python" in words:
            place = words.index("--python")
            del words[place:place + 2]
        words += ["--device", "virtual:quiet"] if "--trace" in words else ["--python", "/bin/false"]
    return words


def may_be_missing(words):
    """Whether a command needs a GPU, CUPTI or PyTorch even for a plan, or what draws pictures."""
    return "--plot" in words or words[1:3] == ["list", "counters"] or words[1] in {"engines", "verify-pytorch", "selftest"} or any(
        "aten::" in word or word == "torch" for word in words)


def problem_of_command(place, words, folder):
    try:
        run = subprocess.run(cheap(words), cwd=folder, capture_output=True, text=True, check=False, timeout=60,
                             stdin=subprocess.DEVNULL, env={**os.environ, **FOR_PYTHON, "JITTERSCOPE_SETTINGS": ""})
    except subprocess.TimeoutExpired:
        return f"{place}: {' '.join(words)}: not done after 60 s"
    if run.returncode == DONE or (run.returncode == MISSING and may_be_missing(words)):
        return None
    return f"{place}: {' '.join(words)}: exit code {run.returncode}: {run.stderr.strip() or run.stdout[-300:]}"


def write_records(folder):
    """Of the reader's own as well: what a run wrote; and a pattern of allocations."""
    for name in ("reference", "candidate", "fast", "faster"):
        (pathlib.Path(folder) / f"{name}.py").write_text("def make():\n    return (lambda x: x), [(4,)]\n", encoding="utf-8")
    (pathlib.Path(folder) / "pattern.txt").write_text("alloc a 1Mi\nfree a\n", encoding="utf-8")
    subprocess.run([PROGRAM, "run", "add:count=1Ki", "--device", "virtual:quiet", "--json", RECORDS[0]], cwd=folder,
                   capture_output=True, check=True)
    subprocess.run([PROGRAM, "run", "add:count=1Ki", "--device", "virtual:quiet", "--processes", "2", "--save", "main"],
                   cwd=folder, capture_output=True, check=True)
    # What a step is planned from: a network's times, and those of exchanges on the same simulated GPU.
    for words in (["run", "gpt2:batch=4,dtype=bf16", "--device", "virtual:h200", "--time-limit", "0.05", "--json", "gpt2.json"],
                  ["collectives", "all_reduce,reduce_scatter,all_gather,send_recv", "--bytes", "64Ki,16Mi", "--device",
                   "virtual:cluster-2xh200", "--quick", "--no-waits", "--json", "links.json"]):
        subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, check=True)
    # A capture of the reader's own is a trace here: it is read alike.
    for name in ("python3", "monday", "tuesday", "train", "loop", "a1", "a2", "a3", "b1", "b2", "b3"):
        shutil.copy(ROOT / "tests/data/bert_trace.json.gz", pathlib.Path(folder) / f"{name}.capture")
    shutil.copy(ROOT / "tests/data/bert_trace.json.gz", pathlib.Path(folder) / "profile.json.gz")
    subprocess.run([PROGRAM, "capture", "export", "python3.capture", "--sqlite", "report.sqlite"], cwd=folder, check=True)
    for name in RECORDS[1:]:
        shutil.copy(pathlib.Path(folder) / RECORDS[0], pathlib.Path(folder) / name)


def problems_of_commands(texts):
    """Of all commands in pages, given as {name: text}; and how many commands there were."""
    commands = [(f"{block.place.split(':')[0]}:{number}", words)
                for name, text in texts.items() for block in blocks_of(name, text)
                for number, words in commands_of(block)]
    with tempfile.TemporaryDirectory() as folder:
        for name, target in STAND_INS.items():
            os.symlink(ROOT / target, pathlib.Path(folder) / name)
        write_records(folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda command: problem_of_command(*command, folder), commands))
    return [problem for problem in results if problem], len(commands)


def problem_of_source(block):
    """Why a C++ or CUDA block does not compile, or None; also where the toolkit that it needs is missing."""
    command = [COMPILER, "-x", "c++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", "-"]
    if block.language == "cuda" or re.search(r"#include <(cuda|cublas|cudnn)", block.text()):
        if not os.access(NVCC, os.X_OK):
            return None
        command = [NVCC, "-x", "cu", "-std=c++20", "-c", f"-I{ROOT / 'include'}", "-o", os.devnull, "-"]
    run = subprocess.run(command, input=block.text(), capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else f"{block.place}: does not compile: {run.stderr.strip()[:600]}"


def problem_of_cmake(block):
    """Why CMake cannot read a block, or None: it is read as the body of a function that nobody calls."""
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as file:
        file.write(f"function(snippet)\n{block.text()}\nendfunction()\n")
        file.flush()
        run = subprocess.run(["cmake", "-P", file.name], capture_output=True, text=True, check=False)
    return None if run.returncode == 0 else f"{block.place}: CMake cannot read it: {run.stderr.strip()[:600]}"


def problems_of_sources(texts):
    problems = []
    for name, text in texts.items():
        for block in blocks_of(name, text):
            if block.not_run:
                continue
            if block.language in ("cpp", "c++", "cuda"):
                problems.append(problem_of_source(block))
            elif block.language == "cmake":
                problems.append(problem_of_cmake(block))
    return [problem for problem in problems if problem]


def variables_of_sources():
    """Names of the environment's variables in the program and in the Python module: each is a literal of its own."""
    files = [file for suffix in ("cpp", "hpp") for file in (ROOT / "src").rglob(f"*.{suffix}")]
    files += (ROOT / "python/jitterscope").rglob("*.py")
    return {name for file in files for name in re.findall(r'"(JITTERSCOPE_[A-Z_]+)"', file.read_text(encoding="utf-8"))}


class Pages(unittest.TestCase):
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}

    def test_every_command_is_understood(self):
        problems, count = problems_of_commands(self.texts)
        self.assertGreater(count, 40)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))

    def test_every_variable_that_is_read_is_in_the_reference(self):
        names = variables_of_sources()
        self.assertIn("JITTERSCOPE_LIBRARY", names)
        page = self.texts["docs/reference/commands.md"]
        table = set(re.findall(r"^\| `(JITTERSCOPE_[A-Z_]+)` \|", page[page.index("## Environment"):], re.MULTILINE))
        self.assertEqual(table, names - OF_THE_PROGRAM_ITSELF)

    def test_every_source_compiles(self):
        problems = problems_of_sources(self.texts)
        self.assertEqual(problems, [], "\n" + "\n".join(problems))


class CaptureGuide(unittest.TestCase):
    def test_what_capture_show_prints_is_what_the_guide_shows(self):
        """A block that begins with the command has its whole output below it."""
        page = "docs/guide/capture.md"
        shown = [block.text() for block in blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))
                 if block.text().startswith("$ jitterscope capture show tests/")]
        self.assertEqual(len(shown), 1)
        command, output = shown[0].split("\n", 1)
        run = subprocess.run([PROGRAM, *command.split()[2:]], cwd=ROOT, capture_output=True, text=True, check=True,
                             stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80", "JITTERSCOPE_SETTINGS": ""})
        self.assertEqual(run.stdout, output)


class WhichGpuIsSlow(unittest.TestCase):
    def test_the_commands_of_the_guide_name_it(self):
        """All lines of the block are run as they stand, in a shell, and the comparison once more as JSON."""
        page = "docs/guide/compare.md"
        blocks = blocks_of(page, (ROOT / page).read_text(encoding="utf-8"))
        block = next(block for block in blocks if "slow-gpu.toml" in block.text() and not block.not_run)
        lines = block.text().replace("jitterscope ", f"'{PROGRAM}' ").splitlines()
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(["bash", "-e", "-c", "\n".join([*lines, lines[-1] + " --json -"])], cwd=folder,
                                 capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
                                 env={**os.environ, "JITTERSCOPE_SETTINGS": ""})
        record = json.loads(run.stdout[run.stdout.index("\n{") + 1:])
        devices = record["comparisons"][0]["beside"][1]["devices"]
        self.assertEqual([each["verdict"] == "slower" for each in devices], [False, True, False])
        self.assertEqual(devices[1]["why"]["setting"], "power limit")


class TheCheckItself(unittest.TestCase):
    def page(self, *lines, language="", before=""):
        return {"page.md": "\n".join([before, f"```{language}", *lines, "```", ""])}

    def test_commands_that_are_not_understood_are_found_with_their_line(self):
        for line in ["jitterscope rum resnet18", "jitterscope run resnet19", "$ jitterscope run resnet18 --cachee warm",
                     "jitterscope run conv2d:nn=1", "jitterscope run absent.json.gz", "jitterscope run add:count=1 --cache hot",
                     "jitterscope run \\", "jitterscope list nothing-of-this-name"]:
            lines = [line, "  resnet19"] if line.endswith("\\") else [line]
            problems, count = problems_of_commands(self.page("# a comment", *lines))
            self.assertEqual(count, 1, line)
            self.assertRegex("".join(problems), "^page.md:4: .*exit code 2", line)

    def test_good_commands_pass(self):
        problems, count = problems_of_commands(self.page(
            "jitterscope run trace.json.gz --device cuda   # a trace", "$ jitterscope list resnet18 | head", "some output",
            "jitterscope run add:count=64 \\", "  --cache cold", "jitterscope run 'aten::gelu(f32[8])' --provider builtin"))
        self.assertEqual((problems, count), ([], 4))

    def test_a_mark_and_a_language_leave_a_block_out(self):
        self.assertEqual(problems_of_commands(self.page("jitterscope run no", before="<!-- not run: a reason -->")), ([], 0))
        self.assertEqual(problems_of_commands(self.page("jitterscope run no", language="text")), ([], 0))
        self.assertEqual(problems_of_sources(self.page("oops", language="cpp", before="<!-- not run: a part -->\n")), [])

    def test_sources_that_do_not_compile_are_found(self):
        cpp = self.page("#include <jitterscope/jitterscope.hpp>", "void my_kernel(cudaStream_t stream);", language="cpp")
        self.assertIn("page.md:2: does not compile", "".join(problems_of_sources(cpp)))
        self.assertEqual(problems_of_sources(self.page("#include <jitterscope/jitterscope.hpp>", language="cpp")), [])
        self.assertIn("CMake cannot read", "".join(problems_of_sources(self.page("find_package(x", language="cmake"))))
        self.assertEqual(problems_of_sources(self.page("find_package(jitterscope REQUIRED)", language="cmake")), [])


if __name__ == "__main__":
    unittest.main()
