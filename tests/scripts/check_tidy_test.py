"""Which sources check-tidy hands to clang-tidy, in repositories with and without history."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-tidy"
# In place of clang-tidy: notes its file, and finds a problem where a source says so.
CLANG_TIDY = """#!/usr/bin/env bash
for file; do :; done
echo "$file" >>"$CHECKED"
! grep -q PROBLEM "$file"
"""


class CheckTidy(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.home)
        self.folder = self.home / "project"
        self.tools = self.home / "tools"
        self.tools.mkdir()
        (self.tools / "clang-tidy").write_text(CLANG_TIDY)
        (self.tools / "clang-tidy").chmod(0o755)
        (self.folder / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPT, self.folder / "scripts")
        (self.folder / "scripts" / "build").write_text("#!/bin/sh\n")  # what it would configure is written below
        (self.folder / "scripts" / "build").chmod(0o755)
        self.write(".gitignore", "build/\n")
        self.write(".clang-tidy", "Checks: bugprone-*\n")
        for name in ("a", "b", "c"):
            self.write(f"src/x/{name}.cpp", f'#include "x/{name}.hpp"\n')
        self.write("src/x/a.hpp")
        self.write("src/x/alone.hpp")
        self.write("src/x/c.cpp", '#include "x/alone.hpp"\n')
        self.write("src/x/not_built.cpp")
        self.write("include/tool/public.hpp")
        self.write("src/x/b.cpp", '#include "tool/public.hpp"\n')
        entries = [{"file": str(self.folder / f"src/x/{name}.cpp")} for name in ("a", "b", "c", "new")]
        self.write("build/debug/compile_commands.json", json.dumps(entries, indent=1))
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, name, text="\n"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        command = ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a change")

    def checked(self, *arguments, status=0):
        """Names of the sources that clang-tidy got."""
        log = self.home / "checked"
        log.write_text("")
        environment = os.environ | {"PATH": f"{self.tools}:{os.environ['PATH']}", "CHECKED": str(log)}
        result = subprocess.run([str(self.folder / "scripts/check-tidy"), *arguments], env=environment,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return sorted(pathlib.Path(line).stem for line in log.read_text().split())

    def test_without_history_all_are_checked(self):
        self.assertEqual(self.checked(), ["a", "b", "c"])

    def test_without_origin_the_last_commit_counts_and_what_is_not_committed(self):
        self.write("src/x/a.cpp", "1\n")
        self.commit()
        self.assertEqual(self.checked(), ["a"])
        self.write("src/x/b.cpp", "2\n")
        self.write("src/x/new.cpp")
        self.write("src/x/not_built.cpp", "3\n")
        self.assertEqual(self.checked(), ["a", "b", "new"])

    def test_a_branch_is_checked_from_where_it_left_origin_main(self):
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        for name in ("a", "b"):
            self.write(f"src/x/{name}.cpp", "1\n")
            self.commit()
        self.assertEqual(self.checked(), ["a", "b"])
        self.assertEqual(self.checked("--base", "HEAD~1"), ["b"])
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.checked(), ["b"])

    def test_headers_are_checked_through_a_source(self):
        for name in ("src/x/a.hpp", "src/x/alone.hpp", "include/tool/public.hpp"):
            self.write(name, "1\n")
        self.commit()
        self.assertEqual(self.checked(), ["a", "b", "c"])
        self.write("src/x/alone.hpp", "2\n")
        self.commit()
        self.assertEqual(self.checked(), ["c"])

    def test_what_was_deleted_is_not_checked(self):
        self.git("rm", "-q", "src/x/a.cpp")
        self.commit()
        self.assertEqual(self.checked(), [])

    def test_new_rules_and_all_check_all(self):
        self.write("src/x/a.cpp", "1\n")
        self.commit()
        self.assertEqual(self.checked("--all"), ["a", "b", "c"])
        self.write(".clang-tidy", "Checks: performance-*\n")
        self.assertEqual(self.checked(), ["a", "b", "c"])

    def test_problems_and_wrong_words_are_told(self):
        self.write("src/x/a.cpp", "// PROBLEM\n")
        self.assertEqual(self.checked("src/x/a.cpp", status=1), ["a"])
        self.assertEqual(self.checked("--base", "nowhere", status=2), [])
        self.assertEqual(self.checked("--everything", status=2), [])


if __name__ == "__main__":
    unittest.main()
