"""Containerfile and workflow, as far as they can be tried without a registry: each stage and source is there, every
shell command is one, packages are those of scripts/setup, and actions are pinned to commits."""

import json
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTRUCTIONS = {"ARG", "FROM", "SHELL", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}


def instructions(text):
    """(instruction, rest) of each, lines that a backslash continues joined."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    return [tuple(line.split(None, 1)) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]


def packages(command):
    """Names that apt-get install is given literally."""
    for match in re.finditer(r"apt-get install ([^&|;]*)", command):
        yield from (word for word in match.group(1).split() if re.fullmatch(r"[a-z0-9][a-z0-9+.-]*", word))


def bash_problem(command):
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False).stderr


def ignored(path):
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return any(path.startswith(line) for line in lines if line and not line.startswith("#"))


class Containerfile(unittest.TestCase):
    file = instructions((ROOT / "Containerfile").read_text())
    known_packages = set(re.findall(r'^  "([a-z0-9+-]+): ', (ROOT / "scripts" / "setup").read_text(), re.MULTILINE))

    def rests(self, name):
        return [rest for instruction, rest in self.file if instruction == name]

    def test_only_known_instructions(self):
        self.assertLessEqual({instruction for instruction, _ in self.file}, INSTRUCTIONS)

    def test_the_second_stage_has_no_compiler(self):
        bases = self.rests("FROM")
        self.assertEqual(len(bases), 2)
        self.assertRegex(bases[0], r"^nvidia/cuda:\S+-devel-\S+ AS build$")
        self.assertRegex(bases[1], r"^nvidia/cuda:\S+-cudnn-runtime-\S+$")

    def test_arguments_are_declared_before_they_are_used(self):
        declared = set()
        for instruction, rest in self.file:
            if instruction == "ARG":
                declared.add(rest.split("=")[0])
            if instruction == "FROM":
                self.assertLessEqual(set(re.findall(r"\$\{(\w+)\}", rest)), declared)

    def test_what_is_copied_exists(self):
        made = " ".join(self.rests("RUN"))
        for rest in self.rests("COPY"):
            *sources, _ = rest.split()
            if sources[0] == "--from=build":
                for source in sources[1:]:
                    self.assertIn(source.rstrip("/"), made)
            else:
                for source in sources:
                    self.assertTrue((ROOT / source).exists(), source)
                    self.assertFalse(ignored(source), source)

    def test_every_command_is_one_for_bash(self):
        for command in self.rests("RUN"):
            self.assertEqual(bash_problem(command), "", command)

    def test_packages_are_those_of_setup_or_nvidia(self):
        named = [name for command in self.rests("RUN") for name in packages(command)]
        self.assertIn("git", named)
        for name in named:
            self.assertIn(name, self.known_packages)
        self.assertIn("scripts/setup build", " ".join(self.rests("RUN")))

    def test_it_runs_as_a_user_with_the_gpu(self):
        self.assertEqual(self.rests("USER"), ["jitterscope"])
        self.assertEqual(json.loads(self.rests("ENTRYPOINT")[0]), ["jitterscope"])
        environment = " ".join(self.rests("ENV"))
        self.assertIn("NVIDIA_VISIBLE_DEVICES=all", environment)
        self.assertIn("NVIDIA_DRIVER_CAPABILITIES=compute,utility", environment)

    def test_cmake_knows_every_variable_that_is_set(self):
        cmake = "".join(file.read_text() for file in [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*"),
                                                      *(ROOT / "src").rglob("CMakeLists.txt")])
        variables = re.findall(r"-D(\w+)=", " ".join(self.rests("RUN")))
        self.assertGreater(len(variables), 3)
        for variable in variables:
            self.assertRegex(cmake, rf"(option|set)\({variable} ")


class Workflow(unittest.TestCase):
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()

    def test_actions_are_pinned_to_commits(self):
        uses = re.findall(r"uses: (\S+)", self.text)
        self.assertTrue(uses)
        for action in uses:
            self.assertRegex(action, r"^actions/[a-z]+@[0-9a-f]{40}$")

    def test_it_runs_what_exists_on_both_systems_with_both_compilers(self):
        commands = re.findall(r"run: (.+)", self.text)
        for command in commands:
            self.assertEqual(bash_problem(command), "", command)
            for script in re.findall(r"(?:^|\s)(\.?\w+/[\w-]+)(?:\s|$)", command):
                self.assertTrue((ROOT / script).exists(), script)
        self.assertTrue(any(".ci/run" in command for command in commands))
        self.assertIn("CMAKE_CXX_COMPILER=clang++", self.text)
        self.assertEqual(self.text.count('["debian:12", "ubuntu:24.04"]'), 2)

    def test_it_is_yaml_with_two_jobs(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("Python's yaml is not installed (Debian's python3-yaml)")
        jobs = yaml.safe_load(self.text)["jobs"]
        self.assertEqual(set(jobs), {"gcc", "clang"})
        for job in jobs.values():
            self.assertIn("timeout-minutes", job)


if __name__ == "__main__":
    unittest.main()
