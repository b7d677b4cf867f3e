"""scripts/check-includes finds each kind of violation, and nothing in sources that keep the rules."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check-includes"


def check(files):
    """Exit status and output for a project that holds these files."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        run = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr


class CheckIncludes(unittest.TestCase):
    def expect_problem(self, file, text, message):
        status, output = check({file: text})
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_includes_to_the_right_are_fine(self):
        status, output = check({
            "src/cli/run.cpp": '#include <CLI/CLI.hpp>\n#include "output/table.hpp"\n',
            "src/measure/loop.cpp": '#include "jitterscope/measure.hpp"\n#include "statistics/statistics.hpp"\n',
            "src/statistics/modes.cpp": '#include "base/random.hpp"\n',
            "src/device/cuda/queue.cpp": '#include <cuda.h>\n#include "device/cuda/driver.hpp"\n',
            "include/jitterscope/device.hpp": '#include <vector>\n#include "jitterscope/operation.hpp"\n',
        })
        self.assertEqual(status, 0, output)

    def test_what_analyses_does_not_know_the_truth(self):
        for folder in ("measure", "finding", "output", "cli"):
            self.expect_problem(f"src/{folder}/a.cpp", '#include "physics/machine.hpp"\n',
                                f"{folder} must not know a virtual GPU's truth")
        status, output = check({"src/selftest/a.cpp": '#include "physics/machine.hpp"\n',
                                "src/device/virtual/a.cpp": '#include "physics/machine.hpp"\n'})
        self.assertEqual(status, 0, output)

    def test_an_include_to_the_left_is_found_with_its_line(self):
        self.expect_problem("src/device/cpu/queue.cpp", '\n\n#include "measure/loop.hpp"\n',
                            "src/device/cpu/queue.cpp:3: includes measure/loop.hpp: measure is left of device")

    def test_a_public_header_counts_as_the_folder_that_implements_it(self):
        self.expect_problem("src/operation/parse.cpp", '#include "jitterscope/device.hpp"\n', "device is left of operation")
        self.expect_problem("include/jitterscope/units.hpp", '#include "jitterscope/operation.hpp"\n',
                            "operation is left of base")

    def test_statistics_hangs_on_nothing(self):
        self.expect_problem("src/statistics/median.cpp", '#include "base/names.hpp"\n', "statistics hangs on nothing")
        self.expect_problem("src/base/names.cpp", '#include "statistics/statistics.hpp"\n', "base hangs on nothing")

    def test_public_headers_need_no_other_library(self):
        for include in ["<cuda.h>", "<fmt/core.h>", '"base/names.hpp"']:
            self.expect_problem("include/jitterscope/device.hpp", f"#include {include}\n", "public headers and the standard")

    def test_a_file_in_no_known_folder_is_found(self):
        self.expect_problem("src/helpers/misc.cpp", "\n", "belongs to no folder")

    def test_a_project_without_sources_is_an_error(self):
        self.assertEqual(check({})[0], 2)


if __name__ == "__main__":
    unittest.main()
