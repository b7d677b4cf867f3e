"""Reports in a real Chromium: no request but the file itself, nothing on the console, each plot with as many marks as it
has rows, values under the pointer. Screenshots of every page, light, dark and on a small screen, stay in
$JITTERSCOPE_SCREENSHOTS for a person to look at."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
SCREENSHOTS = pathlib.Path(os.environ.get("JITTERSCOPE_SCREENSHOTS", tempfile.gettempdir()))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUICK = "--device virtual:h200 --time-limit 0.2 --min-rounds 5"
PAGES = {
    "operation": f"run conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16 {QUICK} --load burst,sustained --counters --iterations 1,10,100,1000",
    "two": f"run add:count=1Mi relu:count=1Mi {QUICK} --load burst",
    "sweep": f"run matmul:m=256..4096*2,n=1024,k=1024,dtype=f16,bf16 {QUICK} --load burst",
    "network": f"run resnet18:batch=32 {QUICK} --load burst --in-sequence",
    "comparison": f"compare add:count=8Mi --vary cache=warm,cold {QUICK} --processes 3",
    "causes": "explain matmul:m=2048,n=2048,k=2048,dtype=f16 --device virtual:h200 --quick",
    "study": f"study precision linear:n=256,in=1024,out=1024 {QUICK} --processes 3",
    "advice": f"advise relu:count=4Mi {QUICK}",
    "methods": "methods relu:count=4Mi --device virtual:h200 --repetitions 3",
}
# Each row is a mark of its own there; an area or a line is one of them all.
COUNTED_MARKS = {"bar", "point", "tick", "rule", "rect"}


def tool(arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):  # 4: not as precise as asked, as so short a run is
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stderr}")


def views_of(view):
    if "name" in view and "data" in view:
        yield view
    for part in view.get("layer", []) + view.get("vconcat", []):
        yield from views_of(part)


@unittest.skipUnless(sync_playwright and CHROMIUM, "needs playwright and chromium: scripts/setup python")
class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        shutil.rmtree(cls.folder)

    def open(self, file, **options):
        """The page once it is drawn; nothing may be asked for or complained of."""
        context = self.browser.new_context(offline=True, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        requests, messages = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: messages.append(dialog.message))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-drawn]", timeout=60_000)
        self.assertEqual(requests, [file.as_uri()])
        self.assertEqual(messages, [])
        return page

    def marks_of(self, plot, view):
        return plot.locator(f".role-mark.{view['name']}_marks > *").count()

    def check_marks(self, page):
        plots = page.locator(".plot")
        specs = page.locator(".plot + script").all_text_contents()
        self.assertEqual(plots.count(), len(specs))
        for index, text in enumerate(specs):
            plot = plots.nth(index)
            self.assertEqual(plot.locator("svg.marks").count(), 1, plot.get_attribute("id"))
            for view in views_of(json.loads(text)):
                mark = view["mark"]["type"]
                if mark not in COUNTED_MARKS or "transform" in view:
                    continue
                with self.subTest(plot=plot.get_attribute("id"), view=view["name"]):
                    self.assertEqual(self.marks_of(plot, view), len(view["data"]["values"]))

    def test_every_page(self):
        for name, command in PAGES.items():
            with self.subTest(page=name):
                file = self.folder / f"{name}.html"
                tool([*command.split(), "--html", str(file)])
                page = self.open(file, viewport={"width": 960, "height": 900})
                self.check_marks(page)
                self.assertGreater(page.locator(".plot svg.marks").count(), 0)
                self.assertLess(file.stat().st_size, 4_000_000)
                page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def test_a_gate_and_its_history(self):
        """Five records, the last two by a GPU of another clock; then the gate that compares with the newest."""
        at = ["--history", str(self.folder / "history")]
        slow = self.folder / "slow.toml"
        slow.write_text('base = "h200"\n[governor]\nmaximum_clock_mhz = 1755\n')
        for seed, device in enumerate(["virtual:h200"] * 3 + [f"virtual:{slow}"] * 2, start=1):
            tool(["run", "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16", "--device", device, "--load", "burst", "--cache",
                  "warm", "--seed", str(seed), "--save", "main", *at])
        gate, history = self.folder / "gate.html", self.folder / "history.html"
        tool(["history", "plot", "main", "-o", str(history), *at])
        tool(["gate", "main", "--device", "virtual:h200", "--html", str(gate), *at])
        for name, file in {"gate": gate, "history": history}.items():
            page = self.open(file, viewport={"width": 960, "height": 900})
            self.check_marks(page)
            self.assertGreater(page.locator(".plot svg.marks").count(), 0)
            page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def test_dark_and_small_screens(self):
        file = self.folder / "dark.html"
        tool([*PAGES["two"].split(), "--html", str(file)])
        dark = self.open(file, color_scheme="dark", viewport={"width": 960, "height": 900})
        self.assertEqual(dark.evaluate("document.documentElement.dataset.drawn"), "dark")
        dark.screenshot(path=SCREENSHOTS / "dark.png", full_page=True)
        small = self.open(file, viewport={"width": 390, "height": 800})
        self.assertLessEqual(small.evaluate("document.documentElement.scrollWidth"), 390, "the page scrolls sideways")
        small.screenshot(path=SCREENSHOTS / "small.png", full_page=True)

    def test_the_pointer_reads_values(self):
        file = self.folder / "hover.html"
        tool([*PAGES["sweep"].split(), "--html", str(file)])
        page = self.open(file, viewport={"width": 960, "height": 900})
        point = page.locator(".role-mark.times_1_marks > *").first
        point.scroll_into_view_if_needed()
        point.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible", timeout=5_000)
        shown = page.locator("#vg-tooltip-element").inner_text()
        self.assertIn("256", shown)
        self.assertIn("µs", shown)

    def test_a_click_on_a_layer_shows_its_rounds(self):
        file = self.folder / "click.html"
        tool([*PAGES["network"].split(), "--html", str(file)])
        page = self.open(file, viewport={"width": 960, "height": 900})
        before = page.locator(".role-mark.chosen_rounds_2_marks > *").first.get_attribute("aria-label")
        page.locator(".role-mark.layers_1_marks > *").nth(12).click(force=True)
        page.wait_for_timeout(300)
        rounds = page.locator(".role-mark.chosen_rounds_2_marks > *")
        self.assertGreater(rounds.count(), 0)
        self.assertNotEqual(rounds.first.get_attribute("aria-label"), before)

    def test_nothing_of_a_record_is_code(self):
        record, file = self.folder / "evil.json", self.folder / "evil.html"
        tool([*PAGES["two"].split(), "--json", str(record)])
        evil = "jitterscope </script><script>alert(1)</script><img src=x onerror=alert(2)>"
        document = json.loads(record.read_text())
        document["environment"]["command_line"] = evil
        document["title"] = evil
        document["device"]["name"] = evil
        for result in document["results"]:
            result["layers"] = [evil]
        record.write_text(json.dumps(document))
        tool(["report", str(record), "-o", str(file)])
        page = self.open(file)
        self.assertIn("<script>alert(1)", page.locator("h1").inner_text())
        self.assertEqual(page.locator("img").count(), 0)

    def test_without_javascript_the_tables_are_there(self):
        file = self.folder / "plain.html"
        tool([*PAGES["two"].split(), "--html", str(file)])
        context = self.browser.new_context(java_script_enabled=False)
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(file.as_uri())
        self.assertIn("The plots need JavaScript", page.locator("noscript").inner_text())
        page.locator("summary", has_text="Table").first.click()
        self.assertIn("add", page.locator("table").first.inner_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
