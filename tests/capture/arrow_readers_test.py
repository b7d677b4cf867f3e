"""pyarrow, which is what the users of captures have, reads each table as it was written.

usage: arrow_readers_test.py WRITE_SAMPLE_TABLES
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import pyarrow as pa

WRITER = sys.argv.pop(1)


class ArrowReaders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        subprocess.run([WRITER, folder.name], check=True)
        self.expected = json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))

    def test_each_column_of_each_table_is_as_written(self):
        self.assertIn("kernels", self.expected)
        self.assertEqual(sorted(self.expected), sorted(path.stem for path in self.folder.glob("*.arrows")))
        for name, columns in self.expected.items():
            with pa.ipc.open_stream(str(self.folder / f"{name}.arrows")) as stream:
                table = stream.read_all()
            table.validate(full=True)
            self.assertEqual(table.column_names, list(columns), name)
            for column, values in columns.items():
                self.assertEqual(table[column].to_pylist(), values, f"{name}.{column}")

    def test_a_killed_process_leaves_all_whole_batches(self):
        path = self.folder / "kernels.arrows"
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])  # in the midst of the last batch, whose process had 200 rows under way
        batches = []
        with self.assertRaises((pa.ArrowInvalid, OSError)), pa.ipc.open_stream(str(path)) as stream:
            for batch in stream:
                batches.append(batch)
        self.assertEqual([batch.num_rows for batch in batches], [3, 1])
        self.assertEqual(batches[0]["start"].to_pylist(), self.expected["kernels"]["start"][:3])


if __name__ == "__main__":
    unittest.main()
