"""scripts/setup on stand-ins of dpkg-query, apt-get, sudo and cmake: nothing is installed here."""

import pathlib
import re
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "setup"
# Every package that the script knows in any group.
ALL = re.findall(r'^  "([a-z0-9+-]+): ', SCRIPT.read_text(), re.MULTILINE)
APT = 'echo "$*" >>"$CALLS"; [ "$1" != install ] || [ -z "$APT_FAILS" ]'


def setup(*groups, missing=(), cmake="3.25.1", apt_fails=""):
    """Exit status, output, and the calls of apt-get, on a machine that lacks these packages."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        calls = path / "calls"
        calls.touch()
        listing = "".join(f"ii  {name}\n" for name in ALL if name not in missing)
        listing += "".join(f"rc  {name}\n" for name in missing)  # removed, its settings left
        (path / "listing").write_text(listing)
        for name, body in {"dpkg-query": f"cat {path}/listing", "apt-get": APT, "sudo": '"$@"',
                           "cmake": f"echo cmake version {cmake}"}.items():
            (path / name).write_text(f"#!/bin/sh\n{body}\n")
            (path / name).chmod(0o755)
        run = subprocess.run([SCRIPT, *groups], capture_output=True, text=True, check=False,
                             env={"PATH": f"{path}:/usr/bin:/bin", "CALLS": str(calls), "APT_FAILS": apt_fails})
        return run.returncode, run.stdout + run.stderr, calls.read_text().splitlines()


class Setup(unittest.TestCase):
    def test_nothing_missing_means_nothing_said_and_nothing_done(self):
        self.assertEqual(setup("tests", "style", "bundle"), (0, "", []))

    def test_what_is_missing_is_named_with_its_purpose_and_installed(self):
        status, output, calls = setup(missing=["libfmt-dev", "libdnnl-dev"])
        self.assertEqual(status, 0, output)
        self.assertIn("libfmt-dev: formatted text", output)
        self.assertEqual(calls, ["install -y --no-install-recommends libfmt-dev libdnnl-dev"])

    def test_only_the_groups_asked_for_are_installed(self):
        self.assertEqual(setup("build", missing=["libgtest-dev", "clang"])[2], [])
        self.assertEqual(setup("tests", missing=["libgtest-dev", "clang"])[2],
                         ["install -y --no-install-recommends libgtest-dev"])

    def test_a_failing_installation_is_tried_again_after_an_update_and_then_reported(self):
        status, output, calls = setup(missing=["g++"], apt_fails="yes")
        self.assertEqual(status, 3)
        self.assertEqual([call.split()[0] for call in calls], ["install", "update", "install"])
        self.assertIn("could not install", output)

    def test_an_old_cmake_is_refused_with_the_reason(self):
        status, output, _ = setup(cmake="3.22.1")
        self.assertEqual(status, 3)
        self.assertIn("CMake 3.25 or newer is needed", output)
        self.assertEqual(setup(cmake="3.100.0")[0], 0)
        self.assertEqual(setup(cmake="4.0.2")[0], 0)

    def test_an_unknown_group_is_a_usage_error(self):
        self.assertEqual(setup("everything")[0], 2)


if __name__ == "__main__":
    unittest.main()
