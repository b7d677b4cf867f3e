"""What the shells offer: asked of the program itself, of its script in bash, and of zsh and fish where they are."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["JITTERSCOPE_PROGRAM"])
FOLDER = tempfile.TemporaryDirectory()
(pathlib.Path(FOLDER.name) / "jitterscope").symlink_to(PROGRAM)  # the name that the scripts complete
ENVIRONMENT = {**os.environ, "PATH": f"{FOLDER.name}:{os.environ['PATH']}", "HOME": FOLDER.name}


def tool(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def offered(*typed):
    """The words that the program offers, and whether files are meant."""
    words = [line.split("\t")[0] for line in tool("__complete", *typed).stdout.splitlines()]
    return [word for word in words if word != ":files"], ":files" in words


def shell(name, script):
    run = subprocess.run([name, "-c", script], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    return run.returncode, run.stdout.splitlines(), run.stderr


class Program(unittest.TestCase):
    def test_commands_and_flags(self):
        self.assertEqual(offered("ru"), (["run"], False))
        self.assertIn("doctor", offered("")[0])
        self.assertEqual(offered("run", "--ca"), (["--cache"], False))
        self.assertEqual(offered("doctor", "--no"), (["--no-measure"], False))
        self.assertNotIn("--cache", offered("doctor", "--")[0])

    def test_values_of_flags(self):
        self.assertEqual(offered("run", "--cache", ""), (["warm", "cold", "dirty", "produced"], False))
        self.assertEqual(offered("run", "--cache", "warm,c"), (["warm,cold"], False))
        self.assertEqual(offered("run", "--cache=d"), (["--cache=dirty"], False))
        self.assertEqual(offered("run", "--seed", ""), ([], False))
        self.assertEqual(offered("run", "--json", ""), ([], True))
        self.assertIn("virtual:h200", offered("run", "resnet18", "--device", "virt")[0])
        self.assertEqual(offered("run", "--device", "virtual:h200,without=noise+dr")[0], ["virtual:h200,without=noise+drift"])
        self.assertIn("coverage", offered("selftest", "--only", "")[0])

    def test_the_words_of_flags_are_those_that_the_program_takes(self):
        flags = {"--cache", "--load", "--queue", "--instrument", "--data", "--provider", "--findings"}
        for flag in flags.intersection(offered("run", "--")[0]):
            message = tool("run", "spin:ns=1", "--device", "virtual:quiet", "--dry-run", flag, "qqqqqqqq").stderr
            known = re.search(r"\(known: ([^)]*)\)", message)
            self.assertIsNotNone(known, message)
            self.assertEqual({*offered("run", flag, "")[0]} - {"auto"}, {*known.group(1).split(", ")} - {"auto"}, flag)

    def test_operations_networks_and_files(self):
        self.assertEqual(offered("run", "resn"), (["resnet18", "resnet50"], True))
        self.assertEqual(offered("run", "conv2"), (["conv2d:"], True))
        self.assertEqual(offered("run", "ate"), (["aten::"], True))
        self.assertEqual(offered("methods", "resn"), ([], False))
        self.assertEqual(offered("run", "conv2d:n=8,d"), ([f"conv2d:n=8,{name}=" for name in ["dilation", "dtype", "direction"]], False))
        self.assertEqual(offered("run", "conv2d:dtype=f16,dt"), ([], False))
        self.assertEqual(offered("run", "conv2d:layout="), (["conv2d:layout=nchw", "conv2d:layout=nhwc"], False))
        self.assertEqual(offered("run", "convert:to="), (["convert:to=nchw", "convert:to=nhwc"], False))
        self.assertEqual(offered("run", "convert:to_dtype=f"),
                         ([f"convert:to_dtype={word}" for word in ["f64", "f32", "f16"]], False))
        self.assertEqual(offered("run", "copy:memory=registered_"), (["copy:memory=registered_anew"], False))
        self.assertEqual(offered("run", "allocation:by=pool"), (["allocation:by=pool", "allocation:by=pool_kept"], False))
        self.assertEqual(offered("run", "batch_norm:pass=i"), (["batch_norm:pass=inference"], False))
        self.assertEqual(offered("run", "softmax:pass=i"), ([], False))
        self.assertEqual(offered("run", "spin:blocks="), ([], False))
        self.assertEqual(offered("run", "attention:layout=s"), (["attention:layout=sbhd"], False))
        self.assertEqual(offered("list", "resnet18:direction=t"), (["resnet18:direction=training"], False))
        self.assertEqual(offered("list", "resnet18:s"), (["resnet18:size="], False))
        self.assertEqual(offered("list", "bert-base:s"), (["bert-base:seq="], False))
        self.assertEqual(offered("run", "--verify", "resnet18", "vg"), (["vgg16"], True))

    def test_what_is_offered_for_a_parameter_is_taken(self):
        for kind, rest in {"conv2d": "n=1,c=8,hw=8,k=8,rs=1", "attention": "batch=1,heads=1,queries=8,dim=64"}.items():
            for name in ["dtype", "layout"]:
                words = offered("run", f"{kind}:{name}=")[0]
                self.assertGreater(len(words), 1)
                for word in words:
                    run = tool("run", f"{word},{rest}", "--device", "virtual:quiet", "--dry-run")
                    self.assertEqual(run.returncode, 0, run.stderr)

    def test_nothing_is_run_and_nothing_is_said_of_lines_that_make_no_sense(self):
        self.assertEqual(offered("rum", "--ca"), ([], False))
        self.assertEqual(offered("run", "nothing:of="), ([], False))
        self.assertEqual(tool("__complete").returncode, 0)


class Bash(unittest.TestCase):
    def complete(self, line):
        """What bash would put in place of the last word, or of its part behind : and =."""
        status, replies, errors = shell("bash", f"""source <(jitterscope reference bash)
          complete -p jitterscope >/dev/null || exit 9
          COMP_LINE={line!r} COMP_POINT={len(line)}
          _jitterscope; printf '%s\\n' "${{COMPREPLY[@]}}" """)
        self.assertEqual((status, errors), (0, ""))
        return [reply for reply in replies if reply]

    def test_it_offers_what_the_program_says(self):
        self.assertEqual(self.complete("jitterscope ru"), ["run"])
        self.assertEqual(self.complete("jitterscope run --ca"), ["--cache"])
        self.assertEqual(self.complete("jitterscope run --cache "), ["warm", "cold", "dirty", "produced"])
        self.assertEqual(self.complete("jitterscope run resn"), ["resnet18", "resnet50"])
        self.assertEqual(self.complete(f"{PROGRAM} doctor --no"), ["--no-measure"])

    def test_only_what_follows_a_colon_or_equals_sign_is_replaced(self):
        self.assertEqual(self.complete("jitterscope run --device virtual:h2"), ["h200"])
        self.assertEqual(self.complete("jitterscope run conv2d:n=8,dty"), ["8,dtype="])
        self.assertEqual(self.complete("jitterscope run --cache=wa"), ["warm"])

    def test_files_are_offered_where_they_are_meant(self):
        (pathlib.Path(FOLDER.name) / "trace.json").touch()
        self.assertEqual(self.complete(f"jitterscope run {FOLDER.name}/tra"), [f"{FOLDER.name}/trace.json"])
        self.assertEqual(self.complete(f"jitterscope run --cache {FOLDER.name}/tra"), [])


class OtherShells(unittest.TestCase):
    def check(self, name, *checks):
        if not shutil.which(name):
            self.skipTest(f"{name} is not installed")
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(tool("reference", name).stdout)
            file.flush()
            run = subprocess.run([name, "-n", file.name], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            for line, expected in checks:
                script = f"source {file.name}; complete -C '{line}'"
                self.assertEqual([reply.split("\t")[0] for reply in shell(name, script)[1]], expected, line)

    def test_zsh(self):
        self.check("zsh")

    def test_fish(self):
        self.check("fish", ("jitterscope ru", ["run"]), ("jitterscope run --ca", ["--cache"]),
                   ("jitterscope run --cache ", ["cold", "dirty", "produced", "warm"]))


if __name__ == "__main__":
    unittest.main()
