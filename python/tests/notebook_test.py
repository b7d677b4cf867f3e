"""The notebook of examples/ runs on a CPU, and its results show as tables and plots."""

import os
import pathlib
import tempfile
import unittest

import nbformat
from nbclient import NotebookClient

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "measure.ipynb"


class Notebook(unittest.TestCase):
    def test_it_runs_and_shows_tables(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        self.assertEqual([cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs], [],
                         "results are made where it runs")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["IPYTHONDIR"] = folder
            NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
        outputs = [output.data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
                   if output.output_type == "display_data"]
        shown = [data["text/html"] for data in outputs if "text/html" in data]
        drawn = [data["application/vnd.vegalite.v5+json"] for data in outputs if "text/html" not in data]
        self.assertEqual(len(shown), 3)
        self.assertTrue(all("<table>" in html for html in shown), shown)
        # A viewer without JavaScript, or one that trusts none, shows the table and the text.
        self.assertFalse(any("<script" in html for html in shown), shown)
        self.assertTrue(all(data["text/plain"].strip() for data in outputs))
        self.assertIn("<td>cold, burst</td>", shown[0])
        self.assertEqual(len(drawn), 3)
        self.assertTrue(all(spec["$schema"].endswith("/v5.json") for spec in drawn))


if __name__ == "__main__":
    unittest.main()
