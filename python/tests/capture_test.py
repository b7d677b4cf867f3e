"""js.capture: a program run with the recorder, which a stand-in is here."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jitterscope as js

RECORDER = os.environ["STAND_IN_RECORDER"]
SHELL = ["sh", "-c"]
USES_CUDA = "STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'; exit 3"


class Capture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        os.environ["JITTERSCOPE_RECORDER"] = RECORDER

    def test_the_folder_and_the_exit_code(self):
        made = js.capture([*SHELL, USES_CUDA])
        self.assertEqual(made, js.Capture(pathlib.Path("sh.capture"), 3))
        info = json.loads((made.folder / "capture.json").read_text(encoding="utf-8"))
        self.assertEqual(info["command"], [*SHELL, USES_CUDA])
        self.assertEqual(js.capture([*SHELL, USES_CUDA]).folder, pathlib.Path("sh-2.capture"))
        self.assertEqual(js.capture([*SHELL, USES_CUDA], folder="mine").folder, pathlib.Path("mine"))

    def test_what_is_asked_for_reaches_the_recorder(self):
        made = js.capture([*SHELL, 'printf %s "$JITTERSCOPE_CAPTURE_SETTINGS" >settings; ' + USES_CUDA], detail="full",
                          graphs="whole", start_after=1.5, duration=60, calls=True)
        settings = dict(item.split("=") for item in pathlib.Path("settings").read_text(encoding="utf-8").split(","))
        self.assertEqual((settings["detail"], settings["graphs"], settings["start_after_ms"], settings["duration_ms"],
                          settings["calls"]), ("2", "1", "1500", "60000", "1"))
        written = json.loads((made.folder / "capture.json").read_text(encoding="utf-8"))["settings"]
        self.assertEqual((written["detail"], written["graphs"], written["duration_ms"]), ("full", "whole", 60000))

    def test_a_number_of_ranges_reaches_the_recorder(self):
        js.capture([*SHELL, 'printf %s "$JITTERSCOPE_CAPTURE_SETTINGS" >settings; ' + USES_CUDA], ranges="a step",
                   start_after="100steps", duration="50steps")
        settings = dict(item.split("=") for item in pathlib.Path("settings").read_text(encoding="utf-8").split(","))
        self.assertEqual((settings["start_after_steps"], settings["duration_steps"], settings["ranges"]),
                         ("100", "50", "a step"))

    def test_the_program_has_our_environment_and_no_more(self):
        own = {"JITTERSCOPE_CAPTURE", "JITTERSCOPE_CAPTURE_SETTINGS", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
               "LD_PRELOAD"}
        show = "import json, os; open('environment', 'w').write(json.dumps(dict(os.environ)))"
        js.capture([sys.executable, "-c", show])
        seen = json.loads(pathlib.Path("environment").read_text(encoding="utf-8"))
        self.assertEqual({name: value for name, value in seen.items() if name not in own},
                         {name: value for name, value in os.environ.items() if name not in own})

    def test_without_cuda_there_is_no_folder(self):
        self.assertEqual(js.capture([*SHELL, "exit 4"]), js.Capture(None, 4))
        self.assertEqual(list(pathlib.Path().glob("*.capture")), [])

    def test_what_cannot_be_asked_for(self):
        for command, options in (("python3 train.py", {}), ([], {}), (SHELL, {"detail": "most"}),
                                 (SHELL, {"graphs": "none"}), (SHELL, {"duration": -1})):
            with self.assertRaises(js.UsageError):
                js.capture(command, **options)

    def test_its_own_failure_is_an_error(self):
        with self.assertRaises(js.FailedError):
            js.capture([*SHELL, USES_CUDA], require=True)
        os.environ["JITTERSCOPE_RECORDER"] = "/nowhere.so"
        with self.assertRaises(js.FailedError):
            js.capture([*SHELL, "echo never"])

    def test_an_interruption_leaves_the_program_time_to_end(self):
        # In a session of its own, as of a terminal, so that all processes of it are interrupted and no other.
        program = "trap 'echo ended >ended; exit 0' INT; echo >ready; while :; do sleep 0.02; done"
        script = f"import jitterscope as js\njs.capture(['sh', '-c', {program!r}])\n"
        with subprocess.Popen([sys.executable, "-c", script], start_new_session=True, stderr=subprocess.PIPE) as process:
            while not pathlib.Path("ready").exists():
                self.assertIsNone(process.poll())
            os.killpg(process.pid, 2)
            errors = process.communicate()[1].decode()
        self.assertTrue(pathlib.Path("ended").exists())
        self.assertIn("KeyboardInterrupt", errors)
        self.assertIn("sh ended with 0", errors)


if __name__ == "__main__":
    unittest.main()
