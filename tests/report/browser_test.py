"""Reports in a real Chromium: no request but the file itself, nothing on the console, each plot as wide as the page and
with a mark for each thing in its record and that value in it, values under the pointer. Where JITTERSCOPE_SCREENSHOTS names a
folder, screenshots of every page, light and dark, and of one on a small screen are put there for a person to look at."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from statistics import median

try:
    from playwright.sync_api import TimeoutError, sync_playwright
except ImportError:
    sync_playwright = None

PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
SCREENSHOTS = os.environ.get("JITTERSCOPE_SCREENSHOTS")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
TRACE = DATA / "import" / "resnet18_trace.json.gz"
BENCH = DATA.parents[1] / "python" / "tests" / "data" / "bench.py"
QUICK = "--device virtual:h200 --time-limit 0.2 --min-rounds 5"
ON_CPU = "--device cpu --time-limit 0.1 --min-rounds 5 --processes 2"
# A page, the command that writes it, and the plots that stand on it.
PAGES = [
    ("operation", f"run conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16 {QUICK} --load burst,sustained --counters "
                  "--iterations 1,10,100,1000", "iterations distribution rounds clock counters"),
    ("two", f"run add:count=1Mi relu:count=1Mi {QUICK} --load burst", "times roofline distribution rounds"),
    ("sweep", f"run matmul:m=256..4096*2,n=1024,k=1024,dtype=f16,bf16 {QUICK} --load burst", "sweep roofline"),
    ("network", f"run resnet18:batch=32 {QUICK} --load burst --in-sequence", "layers where_to_work roofline"),
    ("trace", f"run {TRACE} {QUICK} --load burst --cache warm --in-sequence", "layers where_to_work roofline"),
    ("comparison", f"compare add:count=8Mi --vary cache=warm,cold {QUICK} --processes 3", "effects distribution"),
    ("networks", f"compare resnet18:batch=4,direction=fprop --vary dtype=f32,f16 {QUICK} --processes 3", "effects"),
    ("causes", "explain matmul:m=2048,n=2048,k=2048,dtype=f16 --device virtual:h200 --quick", "best causes variation loops"),
    ("counted", "explain relu:count=8Mi --device virtual:h200 --quick --factors cache,traffic,data", "best causes variation loops"),
    ("study", f"study precision linear:n=256,in=1024,out=1024 {QUICK} --processes 3", "effects distribution"),
    ("pinned", f"study pinned {QUICK} --processes 2", "effects distribution"),
    ("rates", f"study access {QUICK} --processes 2", "effects rates distribution"),
    ("unlike", f"study hierarchy {ON_CPU}", "rates distribution"),
    ("memory", f"study fragmentation {ON_CPU}", "effects distribution"),
    ("advice", f"advise relu:count=4Mi {QUICK}", "path remedies"),
    ("methods", "methods relu:count=4Mi --device virtual:h200 --repetitions 3", "methods"),
    ("findings", f"run conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16 --device virtual:hostile --load burst,sustained",
     "distribution rounds clock"),
    ("doctor", "doctor --device virtual:h200", "noise_floor"),
    ("proofs", "selftest --quick --only width", "proofs"),
]
COMMANDS = {name: command for name, command, _ in PAGES}
MOST_LAYERS, MOST_EFFECTS, MOST_SIDES, LEAST_ROUNDS = 40, 80, 9, 6
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
TABLES_SCROLLED = """() => [...document.querySelectorAll(".rows")].filter(rows => rows.scrollWidth > rows.clientWidth)
  .map(rows => rows.innerText.slice(0, 80))"""
# The texts that end beyond the edges of their plot, or in dots, and the plots that are wider than their place.
TEXTS_CUT = """() => [...document.querySelectorAll("svg.marks")].flatMap(svg => {
  const edge = svg.getBoundingClientRect(), room = svg.parentElement.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect(), beyond = 1;
    return box.width > 0 && (text.textContent.endsWith("…") || box.left < edge.left - beyond || box.right > edge.right + beyond
                             || box.top < edge.top - beyond || box.bottom > edge.bottom + beyond);
  });
  return [...texts.map(text => text.textContent), ...(edge.right > room.right + 1 ? ["the plot is wider than its place"] : [])];
})"""
# The words that are broken within a heading of a table.
WORDS_BROKEN = """() => [...document.querySelectorAll("section > .rows th")].flatMap(heading => {
  const text = heading.firstChild;
  if (text === null || text.nodeType !== Node.TEXT_NODE || heading.getBoundingClientRect().width === 0) return [];
  return [...text.data.matchAll(/\\S+/g)].filter(word => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1;
  }).map(word => word[0]);
})"""
# Each row is a mark of its own there; a line or an area has one for each series.
COUNTED_MARKS = {"bar", "point", "tick", "rule", "rect", "text"}


def tool(arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):  # 4: not as precise as asked, as so short a run is
        raise AssertionError(f"{arguments}: exit code {done.returncode}\n{done.stderr}")


def views_of(view, rows=None):
    """Each view that has a name, with its rows, which may be those of all views around it."""
    rows = view.get("data", {}).get("values", rows)
    if "name" in view and rows is not None and "mark" in view:
        yield view, rows
    for part in view.get("layer", []) + view.get("vconcat", []):
        yield from views_of(part, rows)


def is_shown(row, tips, shown):
    """Whether a tooltip shows the values of a row under the titles of a view."""
    for tip in tips:
        value, text = row.get(tip["field"]), shown.get(tip["title"])
        if value is None or value == "":
            continue
        if text is None or (float(text) != value if isinstance(value, (int, float)) else text != value):
            return False
    return True


def settled_times(measurement):
    """Of its rounds in seconds, and how far a timer's steps may move the middle of a round's launches."""
    rounds = measurement["rounds"][measurement.get("steadiness", {}).get("settled_round", 0):]
    return [median(each["launch_seconds"]) for each in rounds], max((each.get("grain_seconds", 0) for each in rounds), default=0)


def seconds_of_layer(result):
    return result["count"] * result["measurements"][0]["time"]["median_seconds"]


def record_views(document):
    """What views must show by the record alone: kind of plot, which of its kind, view, field, values, give or take."""
    results = [each for each in document.get("results", []) if each.get("measurements")]
    medians = [each["time"]["median_seconds"] for result in results for each in result["measurements"]]
    if 0 < len(document.get("results", [])) <= 4:
        for number, result in enumerate(results):
            for place, measurement in enumerate(result["measurements"], start=1):
                one_view = len(result["measurements"]) == 1
                yield "distribution", number, "rounds" if one_view else f"rounds_{place}", "time", *settled_times(measurement)
    yield "sweep", 0, "times_1", "time", medians, 0
    yield "times", 0, "times", "time", medians, 0
    slowest = sorted(results, key=seconds_of_layer, reverse=True)[:MOST_LAYERS] if any(each["layers"] for each in results) else []
    yield "layers", 0, "layers_1", "total", [result["count"] * each["time"]["median_seconds"] for result in slowest
                                             for each in result["measurements"]], 0
    sides = [each["time"]["median_seconds"] for engine in document.get("engines", []) for each in engine["result"]["measurements"]]
    yield "engines", 0, "engines", "time", sides, 0
    if "comparisons" in document:
        right = [each for each in document["comparisons"] if not each.get("failure") and all(
            each[side].get("verification", {}).get("passed", True) for side in ("first", "second"))]
        changes = [(each["time_ratio"]["ratio"] - 1) * 100 for each in right]
        totals = [(each["time_ratio"]["ratio"] - 1) * 100 for each in document["totals"]]
        if totals:
            changes.sort(key=abs, reverse=True)
        yield "effects", 0, "effects", "change", totals + changes[:MOST_EFFECTS], 1e-4
        together = {}  # what is compared with the same rounds, by these
        for each in right:
            first, second = (each[side].get("round_seconds", []) for side in ("first", "second"))
            if min(len(first), len(second)) < LEAST_ROUNDS:
                continue
            views = sum(map(len, together.values()))
            if views + (1 if str(first) in together else 2) <= MOST_SIDES:
                together.setdefault(str(first), [first]).append(second)
        for place, times in enumerate(sum(together.values(), []), start=1):
            yield "distribution", 0, f"rounds_{place}", "time", times, 0


def seconds_on_axis(spec, name):
    """What one of an axis is in seconds, which another view in the same layers may name; 1 of what is no time."""
    for group in spec.get("vconcat", [spec]):
        views = [view for view, _ in views_of(group)]
        if name in [view["name"] for view in views]:
            titles = [str(view["encoding"].get(axis, {}).get("title")) for view in views for axis in "xy"]
            units = [title.rsplit(", ", 1)[-1] for title in titles if title.startswith("time of ")]
            return SECONDS[units[0]] if units else 1.0
    raise AssertionError(f"no view {name}")


@unittest.skipUnless(sync_playwright and CHROMIUM, "needs playwright and chromium: scripts/setup python")
class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        if SCREENSHOTS:
            pathlib.Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)

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

    def keep_picture(self, page, name):
        if SCREENSHOTS:
            page.screenshot(path=pathlib.Path(SCREENSHOTS) / f"{name}.png", full_page=True)

    def specifications(self, page):
        """Of each plot its place on the page and its specification."""
        plots = page.locator(".plot")
        texts = page.locator(".plot + script").all_text_contents()
        self.assertEqual(plots.count(), len(texts))
        return [(plots.nth(index), json.loads(text)) for index, text in enumerate(texts)]

    def marks_of(self, plot, view):
        return plot.locator(f".role-mark.{view['name']}_marks > *")

    def check_marks(self, plot, spec):
        self.assertEqual(plot.locator("svg.marks").count(), 1)
        for view, rows in views_of(spec):
            mark = view["mark"]["type"]
            if "transform" in view:
                continue
            with self.subTest(view=view["name"]):
                if mark in COUNTED_MARKS:
                    self.assertEqual(self.marks_of(plot, view).count(), len(rows))
                else:
                    drawn = "".join(path.get_attribute("d") for path in self.marks_of(plot, view).all())
                    corners = len(re.findall("[ML]", drawn))
                    self.assertEqual(corners, len(rows) * (2 if mark == "area" else 1))

    def check_record(self, plots, document):
        """Marks stand for what the record holds, whatever the specification says of it."""
        checked = 0
        for kind, number, name, field, values, tolerance in record_views(document):
            of_kind = [each for each in plots if re.sub(r"-\d+$", "", each[0].get_attribute("id")) == kind]
            if number >= len(of_kind):
                continue
            plot, spec = of_kind[number]
            with self.subTest(plot=kind, view=name):
                (view, rows), = [each for each in views_of(spec) if each[0]["name"] == name]
                self.assertEqual(self.marks_of(plot, view).count(), len(values))
                unit = seconds_on_axis(spec, name)
                for shown, value in zip(sorted(row[field] * unit for row in rows), sorted(values), strict=True):
                    self.assertLessEqual(abs(shown - value), tolerance + 1e-5 * abs(value))
                checked += 1
        return checked

    def point_at(self, page, marks, has_area):
        """The tooltip of one that is no empty bin, in the middle of them: at its middle, or, where that is a gap of a
        dashed line, beside it."""
        sizes = marks.evaluate_all("marks => marks.map(mark => [mark.getBoundingClientRect()].map(box => [box.width, box.height])[0])")
        seen = [i for i, (width, height) in enumerate(sizes) if (min if has_area else max)(width, height) > 0.5]
        if not seen:  # an interval, or the rounds that a finding is of, narrower than a pixel: its edge is drawn
            widths = marks.evaluate_all("marks => marks.map(mark => Number(mark.getAttribute('stroke-width')))")
            self.assertTrue(all(width >= 1 for width in widths), widths)
            return None
        tip = page.locator("#vg-tooltip-element.visible")
        # A line over a point takes the pointer: then its neighbours are pointed at.
        middle = len(seen) // 2
        for chosen in dict.fromkeys(min(max(0, middle + step), len(seen) - 1) for step in (0, 1, -1, 3, -3, 7, -7)):
            mark = marks.nth(seen[chosen])
            mark.scroll_into_view_if_needed()
            box = mark.bounding_box()
            for part in (0.5, 0.45, 0.55, 0.4, 0.6):
                page.mouse.move(1, 1)
                page.mouse.move(box["x"] + part * box["width"], box["y"] + part * box["height"])
                try:
                    tip.wait_for(timeout=1_000)
                    return tip
                except TimeoutError:
                    continue
        self.assertEqual(tip.count(), 1, "nothing is read there")
        return tip

    def check_values(self, page, plot, spec):
        """The pointer on one mark of each view reads what that row, or one drawn over it, holds."""
        read = [(view["encoding"]["tooltip"], rows) for view, rows in views_of(spec) if "tooltip" in view.get("encoding", {})]
        self.assertGreater(len(read), 0)
        for view, rows in views_of(spec):
            if "tooltip" not in view.get("encoding", {}) or view["mark"]["type"] not in COUNTED_MARKS or not rows:
                continue
            with self.subTest(view=view["name"]):
                tip = self.point_at(page, self.marks_of(plot, view), view["mark"]["type"] in ("bar", "rect"))
                if tip is None:
                    self.assertTrue(view["name"].startswith(("interval", "findings", "reference")))
                    continue
                shown = dict(row.locator("td").all_inner_texts() for row in tip.locator("tr").all())
                shown = {key.rstrip(":"): value for key, value in shown.items()}
                self.assertTrue(any(is_shown(row, tips, shown) for tips, rows in read for row in rows), shown)

    def check_page(self, name, file, expected, document=None, may_have=frozenset()):
        page = self.open(file, viewport={"width": 960, "height": 900})
        plots = self.specifications(page)
        kinds = {re.sub(r"-\d+$", "", plot.get_attribute("id")) for plot, _ in plots}
        self.assertEqual(kinds - may_have, set(expected.split()))
        self.assertLess(file.stat().st_size, 4_000_000)
        for plot, spec in plots:
            with self.subTest(plot=plot.get_attribute("id")):
                self.check_marks(plot, spec)
                self.check_values(page, plot, spec)
                self.assertLessEqual(*plot.evaluate("place => [place.scrollWidth, place.clientWidth]"), "it is cut at its right")
        self.assertEqual(page.evaluate(TEXTS_CUT), [])
        if document and set(expected.split()) & {"distribution", "sweep", "times", "layers", "engines", "effects"}:
            self.assertGreater(self.check_record(plots, document), 0)
        self.assertEqual(page.locator("h1").count(), page.locator("section").count())
        self.assertGreater(page.locator("section > .rows, section > .status, section > ul, section > ol").count(), 0)
        page.mouse.move(1, 1)
        self.keep_picture(page, name)
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("html[data-drawn=dark]")
        self.keep_picture(page, f"{name}-dark")
        self.check_narrow(page)
        self.keep_picture(page, f"{name}-narrow")

    def check_narrow(self, page):
        """On a telephone nothing is wider than the screen, no plot cuts a text at its edges, and no heading's word is broken."""
        page.set_viewport_size({"width": 420, "height": 900})
        page.wait_for_selector("html[data-width='420']", timeout=60_000)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 420, "the page scrolls sideways")
        self.assertEqual(page.evaluate(TEXTS_CUT), [])
        self.assertEqual(page.evaluate(WORDS_BROKEN), [])
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        self.assertEqual(page.evaluate(TABLES_SCROLLED), [], "a table scrolls sideways")

    def test_every_page(self):
        for name, command, expected in PAGES:
            with self.subTest(page=name):
                file, record = self.folder / f"{name}.html", self.folder / f"{name}.json"
                tool([*command.split(), "--html", str(file), "--json", str(record)])
                self.check_page(name, file, expected, json.loads(record.read_text()))

    def test_a_page_of_little_is_small(self):
        file = self.folder / "little.html"
        tool(["run", "relu:count=1Mi", *QUICK.split(), "--load", "burst", "--cache", "warm", "--html", str(file)])
        self.assertLess(file.stat().st_size, 1_500_000)

    def test_from_one_record_to_another(self):
        """Two records of unlike clocks, and a record beside the times of a trace."""
        slow = self.folder / "capped.toml"
        slow.write_text('base = "h200"\n[governor]\nmaximum_clock_mhz = 1755\n')
        records = [self.folder / name for name in ("monday.json", "tuesday.json", "ours.json")]
        for record, device in zip(records, ("virtual:h200", f"virtual:{slow}")):
            tool(["run", "matmul:m=2048,n=2048,k=2048,dtype=bf16", "--device", device, "--load", "burst", "--json", str(record)])
        tool(["run", str(TRACE), *QUICK.split(), "--cache", "warm", "--in-sequence", "--json", str(records[2])])
        for name, files in {"account": records[:2], "traced": [records[2], TRACE]}.items():
            with self.subTest(page=name):
                file = self.folder / f"{name}.html"
                tool(["explain", *map(str, files), "--html", str(file)])
                self.check_page(name, file, "account")

    def test_several_records(self):
        """Three of a network, compared; then beside each other on a page of all."""
        slow = self.folder / "slower.toml"
        slow.write_text('base = "h200"\n[governor]\nmaximum_clock_mhz = 1755\n')
        records = [self.folder / f"{name}.json" for name in ("first", "second", "third")]
        for record, device in zip(records, ("virtual:h200", f"virtual:{slow}", "virtual:h200")):
            tool(["run", "resnet18:batch=4,direction=fprop", *QUICK.replace("virtual:h200", device).split(), "--load", "burst",
                  "--json", str(record)])
        compared, beside = self.folder / "compared.html", self.folder / "beside.html"
        tool(["compare", *map(str, records), "--html", str(compared)])
        tool(["report", *map(str, records), "-o", str(beside)])
        self.check_page("records", compared, "records effects")
        page = self.open(beside, viewport={"width": 960, "height": 900})
        self.assertEqual(page.locator("section").count(), 4)
        self.assertEqual(page.locator(".plot").first.get_attribute("id"), "records-1")
        self.check_narrow(page)

    def test_functions_in_python(self):
        """A benchmark's cases and a comparison of two functions, which are no operations, on one page from their records."""
        cases, compared, file = (self.folder / name for name in ("cases.json", "functions.json", "python.html"))
        # Rounds enough for a ratio, however busy the machine is.
        quick = "--device cpu --cache warm --precision 50% --time-limit 3 --min-rounds 8 --processes 2".split()
        tool(["run", f"python:{BENCH}:total", *quick, "--json", str(cases)])
        tool(["compare", f"python:{BENCH}:short", f"python:{BENCH}:longer", *quick, "--json", str(compared)])
        tool(["report", str(cases), str(compared), "-o", str(file)])
        # A real CPU's clock is drawn where it moved, as it does beside other programs.
        self.check_page("python", file, "times distribution rounds effects", json.loads(cases.read_text()), {"clock"})
        page = self.open(file)
        self.assertEqual(page.locator("section").count(), 2)
        times, effects = page.locator(".plot[id^=times-]"), page.locator(".plot[id^=effects-]")
        self.assertIn("total(n=200)", times.locator(".role-axis-label text").all_text_contents())
        self.assertEqual(effects.locator(".role-mark.effects_marks > *").count(), 1)

    def test_findings_are_marked_where_they_happened(self):
        """Each band lies over the rounds that its record names, in their measurement."""
        record, file = self.folder / "marked.json", self.folder / "marked.html"
        tool([*COMMANDS["two"].split(), "--json", str(record)])
        document = json.loads(record.read_text())
        document["results"] = document["results"][:1]
        (result,) = document["results"]
        result["findings"] = [{"id": name, "headline": "what it is", "sentence": "", "remedy": "", "evidence": {}, "places": places}
                              for name, places in (("drift", [{"measurement": 0, "rounds": [{"first": 0, "last": 1}]}]),
                                                   ("bimodal", [{"measurement": 0, "rounds": [{"first": 2, "last": 2}]}]))]
        record.write_text(json.dumps(document))
        tool(["report", str(record), "-o", str(file)])
        page = self.open(file, viewport={"width": 960, "height": 900})
        plot = page.locator(".plot[id^=rounds-]")
        bands, points = (plot.locator(f".role-mark.{name}_1_marks > *") for name in ("findings", "rounds"))
        self.assertEqual(bands.count(), 2)
        middles = [box["x"] + box["width"] / 2 for box in (point.bounding_box() for point in points.all())]
        self.assertGreater(len(middles), 3)
        for band, within in ((bands.nth(0), {0, 1}), (bands.nth(1), {2})):
            box = band.bounding_box()  # it begins at the first round, give or take a pixel
            self.assertEqual({i for i, x in enumerate(middles) if box["x"] - 1 < x < box["x"] + box["width"]}, within)

    def test_scales_of_the_loss(self):
        """Training takes minutes and PyTorch: what it finds is invented here."""
        record, file = self.folder / "scales.json", self.folder / "scales.html"
        tool(["doctor", "--device", "virtual:h200", "--no-measure", "--json", str(record)])
        document = json.loads(record.read_text())
        arms = [{"name": name, "skipped": skipped, "underflow": under, "overflow": over, "step_seconds": 0.01, "scale": 1.0,
                 "layers": [], **({} if loss is None else {"loss": loss})}
                for name, skipped, under, over, loss in (("none", 0, 0.31, 0.0, 0.9), ("2^16", 1, 0.01, 0.02, 0.41),
                                                         ("2^24", 80, 0.0, 0.7, None), ("dynamic", 2, 0.01, 0.0, 0.40))]
        kept = ("format", "version", "environment", "device")
        record.write_text(json.dumps({**{key: document[key] for key in kept}, "command": "loss-scaling", "model": "resnet18",
                                      "way": "autocast", "steps": 100, "float32_loss": 0.39, "float32_step_seconds": 0.02,
                                      "arms": arms, "answers": []}))
        tool(["report", str(record), "-o", str(file)])
        self.check_page("scales", file, "scales")

    def test_beside_pytorch(self):
        """No simulated GPU has PyTorch's kernels: the times of layers are those of a trace, and of another run."""
        run, record, file = (self.folder / name for name in ("layers.json", "pytorch.json", "pytorch.html"))
        tool(["run", str(TRACE), *QUICK.split(), "--load", "burst", "--cache", "warm", "--json", str(run)])
        document = json.loads(run.read_text())
        layers = []
        for result in document["results"]:
            median = result["measurements"][0]["time"]["median_seconds"] if result.get("measurements") else None
            there = result.get("recorded_seconds")
            if not median or not there:
                continue
            here = {key: value for key, value in result.items() if key not in ("count", "layers", "recorded_seconds")}
            here["kernels"] = [{"name": "k", "median_seconds": median, "minimum_seconds": median, "maximum_seconds": median}]
            layers.append({"operation": result["operation"], "name": "a", "count": result["count"], "engine": "unknown",
                           "kernels": "differs" if len(layers) % 5 == 0 else "equal", "pytorch_engine": "",
                           "pytorch_kernels": [], "pytorch_seconds": there, "time_ratio": median / there, "here": here})
        self.assertGreater(len(layers), 10)
        kept = ("format", "version", "environment", "device")
        record.write_text(json.dumps({**{key: document[key] for key in kept}, "command": "verify-pytorch", "model": "resnet18",
                                      "torch": "2.11", "pytorch_cudnn": "9.19", "without_plans": "", "layers": layers,
                                      "not_compared": []}))
        tool(["report", str(record), "-o", str(file)])
        self.check_page("pytorch", file, "pytorch")

    def test_the_picture_of_the_first_page_is_what_its_record_shows_today(self):
        """Redrawn by: jitterscope report docs/images/causes.json --plot docs/images/causes.svg"""
        kept, drawn = DATA.parents[1] / "docs" / "images" / "causes.svg", self.folder / "causes.svg"
        tool(["report", str(kept.with_suffix(".json")), "--plot", str(drawn)])

        def told(picture):  # not where it stands, which fonts move
            return re.findall(r'aria-label="([^"]*)"', picture) + re.findall("<text[^>]*>([^<]*)", picture)
        self.assertEqual(told(kept.read_text()), told(drawn.read_text()))
        # Of the reader's fonts nothing is known: with those of this machine, too, no text is cut at an edge.
        page = self.browser.new_page()
        page.set_content(f"<body style='margin: 0'>{kept.read_text()}</body>")
        self.assertEqual(page.evaluate(TEXTS_CUT), [])
        page.close()

    def test_engines(self):
        """No simulated GPU has engines: their times are those of another run."""
        record, file = self.folder / "engines.json", self.folder / "engines.html"
        tool(["run", "conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1", *QUICK.split(), "--load", "burst", "--json", str(record)])
        document = json.loads(record.read_text())
        (result,) = document["results"]
        engines = [{"tag": f"eng{number}_k2=4", "source": "heuristic", "notes": "tensor core", "workspace_bytes": 4096,
                    "autotune_tries": True, "autotune_wins": wins, "result": result} for number, wins in ((1, 3), (38, 47))]
        kept = ("format", "version", "environment", "device")
        record.write_text(json.dumps({**{key: document[key] for key in kept}, "command": "engines", "imitations": 50,
                                      "operation": result["operation"], "heuristic": "eng1_k2=4", "engines": engines}))
        tool(["report", str(record), "-o", str(file)])
        self.check_page("engines", file, "engines", json.loads(record.read_text()))

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
        for name, file, expected in [("gate", gate, "effects distribution"), ("history", history, "history")]:
            self.check_page(name, file, expected)

    def test_a_table_uses_the_margins_before_it_scrolls(self):
        file = self.folder / "wide.html"
        tool(["run", "resnet18", *QUICK.split(), "--load", "burst", "--html", str(file)])
        page = self.open(file, viewport={"width": 1280, "height": 900})
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1280, "the page scrolls sideways")
        table, room = page.evaluate("(rows => [rows.scrollWidth, rows.clientWidth])(document.querySelector('.rows'))")
        self.assertLessEqual(table, room, "the last columns are scrolled away beside empty margins")

    def test_dark_and_small_screens(self):
        file = self.folder / "dark.html"
        tool([*COMMANDS["two"].split(), "--html", str(file)])
        dark = self.open(file, color_scheme="dark", viewport={"width": 960, "height": 900})
        self.assertEqual(dark.evaluate("document.documentElement.dataset.drawn"), "dark")
        small = self.open(file, viewport={"width": 390, "height": 800})
        self.assertLessEqual(small.evaluate("document.documentElement.scrollWidth"), 390, "the page scrolls sideways")
        self.keep_picture(small, "small")

    def test_paper_is_white_in_dark_rooms_too(self):
        file = self.folder / "paper.html"
        tool([*COMMANDS["two"].split(), "--html", str(file)])
        page = self.open(file, color_scheme="dark")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.wait_for_selector("html[data-drawn=light]")
        page.emulate_media(media="print", color_scheme="dark")
        colours = page.evaluate("[getComputedStyle(document.body)].map(style => [style.color, style.backgroundColor])[0]")
        self.assertEqual(colours, ["rgb(29, 33, 39)", "rgb(255, 255, 255)"])

    def test_the_pointer_reads_values(self):
        file = self.folder / "hover.html"
        tool([*COMMANDS["sweep"].split(), "--html", str(file)])
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
        tool([*COMMANDS["network"].split(), "--html", str(file)])
        page = self.open(file, viewport={"width": 960, "height": 900})
        before = page.locator(".role-mark.chosen_rounds_2_marks > *").first.get_attribute("aria-label")
        page.locator(".role-mark.layers_1_marks > *").nth(12).click(force=True)
        page.wait_for_function("""before => {
          const round = document.querySelector(".role-mark.chosen_rounds_2_marks > *");
          return round !== null && round.getAttribute("aria-label") !== before;
        }""", arg=before)

    def test_nothing_of_a_record_is_code(self):
        record, file = self.folder / "evil.json", self.folder / "evil.html"
        tool([*COMMANDS["two"].split(), "--json", str(record)])
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
        tool([*COMMANDS["two"].split(), "--html", str(file)])
        context = self.browser.new_context(java_script_enabled=False)
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(file.as_uri())
        self.assertIn("The plots need JavaScript", page.locator("noscript").inner_text())
        page.locator("summary", has_text="Table").first.click()
        self.assertIn("add", page.locator("table").first.inner_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
