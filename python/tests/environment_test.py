"""The module where CUDA is another one, half there or not there: a sentence each time, and the CPU is measured all the same.
Each case is a process of its own, since a driver that was opened stays open; a crash would be its exit code."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
LIBRARY = os.environ["JITTERSCOPE_LIBRARY"]
STAND_IN_DRIVER = os.environ.get("STAND_IN_CUDA_LIBRARY", "")
MEASURE = """
import sys
import jitterscope as js
print([device["id"] for device in js.devices()][0])
assert js.measure(lambda: sum(range(100)), device="cpu", time_limit=0.1).median > 0
try:
    js.measure(lambda: None, device="cuda:0")
except js.MissingError as error:
    print(error)
else:
    sys.exit("it was measured")
"""
# A PyTorch that has begun with CUDA, as far as the module asks it.
TORCH = """
import sys, types
cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, current_device=lambda: 0)
sys.modules["torch"] = types.SimpleNamespace(cuda=cuda)
import jitterscope as js
try:
    js.measure(lambda: None)
except js.MissingError as error:
    print(error)
"""


def run(script, **environment):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


@unittest.skipIf(pathlib.Path("/dev/nvidiactl").exists(), "this machine has a driver of its own")
class Drivers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect(self, *sentences, script=MEASURE, **environment):
        """By the module and by the command line."""
        environment = {"LD_LIBRARY_PATH": str(self.folder), **environment}
        code, said, errors = run(script, **environment)
        self.assertEqual(code, 0, errors)
        done = subprocess.run([PROGRAM, "run", "add:count=1Ki", "--device", "cuda"], capture_output=True, text=True,
                              check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 3, done.stderr)
        for sentence in sentences:
            self.assertIn(sentence, said)
            self.assertIn(sentence, done.stderr)
        return said

    def test_none_is_named_with_the_remedy(self):
        self.assertIn("cpu\n", self.expect("no NVIDIA driver found", "install it, or use device cpu"))

    def test_what_is_no_library_is_quoted(self):
        (self.folder / "libcuda.so.1").write_text("no library")
        self.expect("no NVIDIA driver found", "libcuda.so.1: file too short")

    def test_a_pytorch_of_cuda_without_a_driver_is_a_sentence(self):
        self.expect("no NVIDIA driver found", script=TORCH)

    @unittest.skipUnless(STAND_IN_DRIVER, "the CUDA device is not built")
    def test_one_that_refuses_says_why_and_what_to_do(self):
        os.symlink(STAND_IN_DRIVER, self.folder / "libcuda.so.1")
        for error, remedy in [(100, "CUDA_VISIBLE_DEVICES"), (34, "stubs folder"), (803, "reboot"), (804, "compat folder")]:
            with self.subTest(error=error):
                self.expect("no usable NVIDIA GPU", f"(error {error})", remedy, STAND_IN_CUDA_INIT=str(error))

    @unittest.skipUnless(STAND_IN_DRIVER, "the CUDA device is not built")
    def test_one_without_a_gpu_is_said(self):
        os.symlink(STAND_IN_DRIVER, self.folder / "libcuda.so.1")
        self.expect("this process sees 0 GPUs")

    @unittest.skipUnless(STAND_IN_DRIVER, "the CUDA device is not built")
    def test_one_that_lacks_a_function_is_too_old(self):
        other = self.folder / "libcuda.so.1"
        os.symlink(LIBRARY, other)  # any library: it has none of a driver's functions
        self.expect("is too old: it has no cuInit", "install one for CUDA 11.4 or newer")


class OwnFiles(unittest.TestCase):
    def test_a_script_that_is_named_as_the_program_does_not_start_itself_for_ever(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder) / "jitterscope"
            script.write_text(f"#!{sys.executable}\nfrom jitterscope._command import main\nmain()\n")
            script.chmod(0o755)
            done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False, timeout=60,
                                  env={**os.environ, "JITTERSCOPE_PROGRAM": str(script)})
        self.assertEqual(done.returncode, 3)
        self.assertIn("unset it", done.stderr)

    def refusal(self, path):
        code, said, errors = run("import jitterscope as js\ntry:\n    js.devices()\nexcept js.MissingError as error:\n"
                                 "    print(error)", JITTERSCOPE_LIBRARY=str(path))
        self.assertEqual(code, 0, errors)
        return said

    def test_one_that_cannot_be_used_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            damaged = pathlib.Path(folder) / "libjitterscope.so"
            self.assertIn("is not there: install the wheel", self.refusal(damaged))
            damaged.write_text("half of it")
            self.assertIn(f"{damaged} cannot be opened", self.refusal(damaged))
        mapped = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").split()
        other = next(word for word in mapped if "/libc.so" in word)
        self.assertIn("is of another version than this module: it has no jitterscope_version", self.refusal(other))

    def test_the_version_is_that_of_the_program(self):
        code, said, errors = run("import jitterscope as js\nprint(js.__version__, js.version())")
        self.assertEqual(code, 0, errors)
        own = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        self.assertEqual(said.split(), [own, own])
        by_module = subprocess.run([sys.executable, "-m", "jitterscope", "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(by_module.stdout.split(), ["jitterscope", own])

    def test_without_the_library_there_is_no_version_and_an_import_all_the_same(self):
        code, said, errors = run("import jitterscope as js\nprint(getattr(js, '__version__', None))\njs.__version__",
                                 JITTERSCOPE_LIBRARY="/nowhere.so")
        self.assertEqual((code, said), (1, "None\n"))
        self.assertRegex(errors, "AttributeError: jitterscope.__version__: /nowhere.so is not there: install the wheel")

    def test_the_command_line_without_its_program_is_a_sentence(self):
        done = subprocess.run([sys.executable, "-m", "jitterscope", "--version"], capture_output=True, text=True, check=False,
                              env={**os.environ, "JITTERSCOPE_PROGRAM": "/nowhere"})
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^jitterscope: /nowhere is not there: install the wheel[^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
