"""Records whose values somebody changed are printed, or refused in a sentence; nothing crashes. Of every command, by the
records of tests/fuzz/corpus/record: each is changed in one place at a time, in places and ways drawn by a seed.
usage: odd_records_test.py PROGRAM FOLDER [CHANGES OF EACH] [SEED]"""

import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NUMBERS = [0, -1, 1e300, -1e-300, 2**62, 0.5, None, "text", [], {}]


def places(value, path=()):
    """Paths to everything in a document."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(document, path, draw):
    """The document with one place changed, and what was done there."""
    document = copy.deepcopy(document)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    key, old = path[-1], parent[path[-1]]
    ways = ["remove", "number"]
    if isinstance(old, list) and old:
        ways += ["empty", "twice", "first"]
    way = draw.choice(ways)
    if way == "remove":
        del parent[key]
    elif way == "number":
        parent[key] = draw.choice(NUMBERS)
    elif way == "empty":
        parent[key] = []
    elif way == "twice":
        parent[key] = old + old
    else:
        parent[key] = old[:1]
    return document, f"{way} at {'/'.join(map(str, path))}: {parent.get(key) if isinstance(parent, dict) else ''!r}"[:200]


def main():
    program, folder = sys.argv[1:3]
    changes = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    printed = refused = 0
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "record.json"
        for record in sorted(pathlib.Path(folder).iterdir()):
            document = json.loads(record.read_text(encoding="utf-8"))
            every = list(places(document))
            for _ in range(changes):
                other, what = changed(document, draw.choice(every), draw)
                file.write_text(json.dumps(other), encoding="utf-8")
                show = subprocess.run([program, "show", str(file), "--details"], capture_output=True, text=True, check=False)
                if show.returncode not in (0, 2) or (show.returncode == 2 and "record.json: " not in show.stderr):
                    sys.exit(f"{record.name}, {what}: exit code {show.returncode}: {show.stderr[:2000]}")
                printed, refused = printed + (show.returncode == 0), refused + (show.returncode == 2)
    print(f"{printed} printed, {refused} refused")
    if not printed or not refused:
        sys.exit("either nothing was printed or nothing refused: the changes do not do what they are for")


if __name__ == "__main__":
    main()
