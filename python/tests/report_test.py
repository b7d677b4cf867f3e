"""Pages and pictures of what js.measure found, and the plots that a notebook draws."""

import json
import pathlib
import re
import tempfile
import unittest

import jitterscope as js


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.time = js.measure(lambda: sum(range(1000)), device="cpu", name="<b>sum</b>", cache=["warm", "cold"], time_limit=0.1)

    def test_plots_hold_what_was_measured(self):
        plots = self.time.plots
        self.assertEqual(plots[0].id, "distribution")
        views = {layer["name"]: layer for view in plots[0].spec["vconcat"] for layer in view["layer"]}
        self.assertEqual(len(views["rounds_1"]["data"]["values"]), len(self.time["warm"].rounds))
        self.assertEqual(len(views["rounds_2"]["data"]["values"]), len(self.time["cold"].rounds))

    def test_a_notebook_draws_them(self):
        drawn = self.time.plots[0]._repr_mimebundle_()
        self.assertEqual(drawn["application/vnd.vegalite.v5+json"]["$schema"],
                         "https://vega.github.io/schema/vega-lite/v5.json")
        self.assertIn("distribution", drawn["text/plain"])

    def test_a_page_and_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            page, picture, drawing = (pathlib.Path(folder, name) for name in ("a.html", "a.png", "a.svg"))
            self.time.html(page)
            text = page.read_text(encoding="utf-8")
            self.assertIn("Distribution of times: &lt;b&gt;sum", text)
            self.assertNotIn("<b>sum", text)
            self.assertEqual(re.findall("<h1>(.*?)</h1>", text.replace("<wbr>", "")), ["one launch of &lt;b&gt;sum&lt;/b&gt;"])
            self.assertIn("<code>js.measure of &lt;b&gt;sum&lt;/b&gt;</code>", text)
            self.time.plot(picture)
            self.assertEqual(picture.read_bytes()[:4], b"\x89PNG")
            self.time.plot(drawing)
            self.assertIn("<svg", drawing.read_text(encoding="utf-8"))

    def test_what_cannot_be_drawn_is_said(self):
        with self.assertRaisesRegex(js.UsageError, "a picture's name ends in .png or .svg"):
            self.time.plot("time.jpg")
        with self.assertRaisesRegex(js.UsageError, "no-such-folder"):
            self.time.html("/no-such-folder/a.html")
        without = json.loads(json.dumps(self.time.record))
        without["results"][0]["measurements"] = []
        self.assertEqual(js.Record(without).plots, [])


if __name__ == "__main__":
    unittest.main()
