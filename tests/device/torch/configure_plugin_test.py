#!/usr/bin/env python3
"""Configures the plug-in for a PyTorch with CUDA that is made up of empty files. usage: configure_plugin_test.py CMAKE"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CMAKE = sys.argv.pop(1) if len(sys.argv) > 1 else "cmake"
SOURCE = pathlib.Path(__file__).resolve().parents[3] / "src" / "torch_plugin"
LIBRARIES = ("torch", "torch_cpu", "c10", "c10_cuda", "torch_cuda")
HEADERS = ("cuda_runtime_api.h", "crt/host_config.h")


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class ConfigurePlugin(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.site, self.build, self.toolkit = self.root / "site", self.root / "build", self.root / "toolkit"
        write(self.site / "torch" / "__init__.py")
        write(self.site / "torch" / "version.py", "cuda: str = '13.0'\n")
        write(self.site / "torch" / "include" / "ATen" / "ATen.h")
        for library in LIBRARIES:
            write(self.site / "torch" / "lib" / f"lib{library}.so")
        self.wheel = self.site / "nvidia" / "cu13" / "include"
        write(self.wheel / HEADERS[0])
        write(self.root / "CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(whole LANGUAGES CXX)\n"
              f"add_subdirectory({SOURCE} plugin)\n")

    def configure(self, torch):
        # Named, so that a toolkit of the machine is not looked for.
        environment = os.environ | {"PYTHONPATH": str(self.site), "CUDA_HOME": str(self.toolkit)}
        done = subprocess.run([CMAKE, "-S", self.root, "-B", self.build, f"-DJITTERSCOPE_TORCH={torch}",
                               "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, " ".join(done.stdout.split())

    def takes(self, folder):
        return str(folder) in (self.build / "compile_commands.json").read_text(encoding="utf-8")

    def test_a_wheel_without_all_its_headers_is_passed_over(self):
        for header in HEADERS:
            write(self.toolkit / "include" / header)
        status, text = self.configure("AUTO")
        self.assertEqual(status, 0, text)
        self.assertTrue(self.takes(self.toolkit))
        self.assertFalse(self.takes("nvidia/cu13/include"))

    def test_wheels_that_have_them_all_are_taken(self):
        write(self.wheel / HEADERS[1])
        status, text = self.configure("AUTO")
        self.assertEqual(status, 0, text)
        self.assertTrue(self.takes("nvidia/cu13/include"))

    def test_without_headers_a_build_that_found_pytorch_by_itself_leaves_it_out(self):
        status, text = self.configure("AUTO")
        self.assertEqual(status, 0, text)
        self.assertIn("left out", text)
        self.assertIn("nvidia-cuda-crt", text)

    def test_without_headers_a_pytorch_that_was_named_is_an_error(self):
        status, text = self.configure(self.site / "torch")
        self.assertNotEqual(status, 0, text)
        self.assertIn("nvidia-cuda-crt", text)


if __name__ == "__main__":
    unittest.main()
