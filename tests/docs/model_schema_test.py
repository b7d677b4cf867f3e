"""docs/model.schema.json and the program's reader of model files take and refuse the same files."""

import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ["JITTERSCOPE_PROGRAM"]
SCHEMA = json.loads((ROOT / "docs" / "model.schema.json").read_text(encoding="utf-8"))
GOOD = json.loads((ROOT / "examples" / "model.json").read_text(encoding="utf-8"))


def changed(change):
    model = copy.deepcopy(GOOD)
    change(model)
    return model


def put(*path_and_value):
    """A change of one field: put("layers", 0, "names", [])."""
    *path, last, value = path_and_value

    def change(model):
        for step in path:
            model = model[step]
        model[last] = value
    return change


def drop(*path):
    *path, last = path

    def change(model):
        for step in path:
            model = model[step]
        del model[last]
    return change


BAD = {
    "no object": lambda model: model.clear(),
    **{f"no {name}": drop(name) for name in ("format", "version", "name", "description", "layers")},
    **{f"no {name} of a layer": drop("layers", 0, name) for name in ("operation", "names")},
    "another format": put("format", "jitterscope-layers"), "another version": put("version", 2),
    "a version as text": put("version", "1"), "an empty name": put("name", ""), "a name as number": put("name", 1),
    "a description as list": put("description", []), "no layers": put("layers", []), "layers as object": put("layers", {}),
    "a layer as text": put("layers", 0, "conv2d:n=1"), "an unknown field": put("layerz", []),
    "an unknown field of a layer": put("layers", 0, "count", 2), "an operation as object": put("layers", 0, "operation", {}),
    "an unknown kind": put("layers", 0, "operation", "conv9d:n=1"), "an empty operation": put("layers", 0, "operation", ""),
    "no names": put("layers", 0, "names", []), "names as text": put("layers", 0, "names", "a"),
    "an empty name of a layer": put("layers", 0, "names", ["a", ""]), "a number among names": put("layers", 0, "names", [1]),
    "a schema that is no text": put("$schema", 7),
}


def schema_takes(model):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(model)


def program_on(model):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        # The reader knows a model by its format, and a file without one by its name among the arguments only.
        file.write(json.dumps(model))
        file.flush()
        return subprocess.run([PROGRAM, "list", file.name], capture_output=True, text=True, check=False)


class ModelSchema(unittest.TestCase):
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_the_example_is_taken_by_both_with_and_without_its_schema(self):
        for model in [GOOD, changed(drop("$schema")), changed(put("description", "")),
                      changed(put("layers", 0, "operation", " add : count=1Ki "))]:
            self.assertTrue(schema_takes(model), model)
            run = program_on(model)
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_the_example_names_the_schema(self):
        self.assertEqual((ROOT / "examples" / GOOD["$schema"]).resolve(), ROOT / "docs" / "model.schema.json")

    def test_bad_files_are_refused_by_both(self):
        for name, change in BAD.items():
            model = changed(change)
            self.assertFalse(schema_takes(model), name)
            run = program_on(model)
            self.assertEqual(run.returncode, 2, f"{name}: {run.stderr}")

    def test_messages_about_the_form_name_the_schema(self):
        for name in ["no name", "an unknown field", "names as text"]:
            self.assertIn("model.schema.json", program_on(changed(BAD[name])).stderr)

    def test_the_schema_knows_every_kind_of_operation(self):
        kinds = json.loads(subprocess.run([PROGRAM, "list", "operations", "--json", "-"], capture_output=True, text=True,
                                          check=True).stdout)["operations"]
        pattern = SCHEMA["properties"]["layers"]["items"]["properties"]["operation"]["pattern"]
        self.assertEqual(re.search(r"\(([^)]*)\)", pattern).group(1).split("|"), [kind["kind"] for kind in kinds])


if __name__ == "__main__":
    unittest.main()
