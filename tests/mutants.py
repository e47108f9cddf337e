"""Programs that are wrong in one place, made from the text of the package, uncompiled."""

import re
from pathlib import Path


def mutant(module, old, new):
    """Return the names of a module after its first `old` has become `new`."""
    text, found = re.subn(re.escape(old), lambda _: new, Path(module.__file__).read_text(), count=1)
    assert found, f"{old!r} is not in {module.__file__}"
    text = re.sub(r"(numba\.njit|register_jitable)\(.*\)", "lambda function: function", text)
    names = {"__name__": module.__name__, "__file__": module.__file__}
    exec(compile(text, module.__file__, "exec"), names)
    return names
