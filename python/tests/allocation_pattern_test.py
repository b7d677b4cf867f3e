"""js.allocation_pattern, on snapshots as PyTorch makes them."""

import pickle
import tempfile
import unittest

import jitterscope as js


def snapshot(*events):
    return {"segments": [], "device_traces": [[{"action": action, "addr": address, "size": size, "stream": 0}
                                               for action, address, size in events]]}


class Patterns(unittest.TestCase):
    def test_each_block_has_a_name_of_its_own_and_is_freed(self):
        text = js.allocation_pattern(snapshot(("segment_alloc", 0, 2 << 20), ("alloc", 16, 512), ("alloc", 1024, 4096),
                                              ("free_requested", 16, 512), ("free_completed", 16, 512),
                                              ("alloc", 16, 100)))
        self.assertEqual(text.splitlines(), ["alloc b0 512", "alloc b1 4096", "free b0", "alloc b2 100", "free b1", "free b2"])

    def test_blocks_from_before_the_recording_are_left_out(self):
        text = js.allocation_pattern(snapshot(("free_completed", 7, 512), ("alloc", 16, 512), ("free_completed", 16, 512)))
        self.assertEqual(text, "alloc b0 512\nfree b0\n")

    def test_a_lost_free_stands_before_the_next_block_at_its_address(self):
        text = js.allocation_pattern(snapshot(("alloc", 16, 512), ("alloc", 16, 600)))
        self.assertEqual(text.splitlines(), ["alloc b0 512", "free b0", "alloc b1 600", "free b1"])

    def test_a_file_is_read(self):
        with tempfile.NamedTemporaryFile() as file:
            pickle.dump(snapshot(("alloc", 1, 8)), file)
            file.flush()
            self.assertEqual(js.allocation_pattern(file.name), "alloc b0 8\nfree b0\n")

    def test_what_is_no_snapshot_is_answered_with_a_sentence(self):
        for source, why in [(snapshot(), "no events of device 0"), ({}, "_record_memory_history"),
                            ("/no/such/file", "no snapshot"), (__file__, "no snapshot")]:
            with self.assertRaisesRegex(js.UsageError, why):
                js.allocation_pattern(source)


if __name__ == "__main__":
    unittest.main()
