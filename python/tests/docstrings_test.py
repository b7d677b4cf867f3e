"""help() is enough to begin: every public name says what it is, and every number in which unit."""

import inspect
import pydoc
import typing
import unittest

import jitterscope as js

# What a sentence about a number holds: a unit, or that it is relative.
UNITS = ("second", "hertz", "byte", "median", "over", "ratio", "relative", "±", "%", "share")


def members(owner):
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        function = member.fget if isinstance(member, property) else member
        if inspect.isfunction(function):
            yield name, function


class Docstrings(unittest.TestCase):
    def test_every_public_name_has_one(self):
        for name in js.__all__:
            public = getattr(js, name)
            self.assertTrue(public.__doc__, name)
            if inspect.isclass(public):
                for member, function in members(public):
                    self.assertTrue(function.__doc__, f"{name}.{member}")

    def test_every_number_says_its_unit(self):
        numbers = 0
        for owner in (js.Time, js.Measurement, js.Comparison):
            for name, function in members(owner):
                result = str(typing.get_type_hints(function).get("return", ""))
                if "float" not in result and name not in ("rounds", "launches"):
                    continue
                numbers += 1
                self.assertTrue(any(unit in function.__doc__.lower() for unit in UNITS), f"{owner.__name__}.{name}")
        self.assertGreater(numbers, 10)

    def test_help_of_measure_is_enough_to_begin(self):
        text = pydoc.plain(pydoc.render_doc(js.measure))
        for word in (">>> time = js.measure(lambda: model(x))", "cuda:0", "seconds", "hertz", "saturated", "time.notes"):
            self.assertIn(word, text)
        for argument in inspect.signature(js.measure).parameters:
            self.assertIn(argument, text)


if __name__ == "__main__":
    unittest.main()
