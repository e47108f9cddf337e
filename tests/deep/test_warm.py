"""Changes of one function are told from others, which need the package to be imported anew."""

import pytest
from planting import PACKAGE
from warm import changed_function

FILE = PACKAGE / "accounting" / "amounts.py"
TEXT = FILE.read_text()
CHANGES = {
    "an operator of a function": ("amount == 0:", "amount != 0:", "exactly_written"),
    "a number of a function": ('split("p")', 'split("q")', "exactly_read"),
    "a constant of the module": ("UNIT = 2 **", "UNIT = 3 **", None),
    "a comment": ("# units in 1", "# units", None),
    "a line more": ("import math\n", "import math\n\n", None),
    "a default": ("def ceiling(budget: float)", "def ceiling(budget: float = 1.0)", None),
    "a name": ("def ceiling(", "def floor(", None),
    "several functions": ("math.nextafter(nearest", "max(nearest", None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_one_function_is_found(name):
    old, new, function = CHANGES[name]
    assert old in TEXT
    pair = changed_function(str(FILE), TEXT.replace(old, new))
    assert (pair and [code.co_qualname for code in pair]) == (function and [function, function])
