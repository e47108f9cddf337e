"""Reference documentation: everything public says what it takes and what it returns, in numpydoc's sections."""

import importlib
import inspect

import pytest
from numpydoc.docscrape import FunctionDoc, NumpyDocString

PACKAGES = (
    "privfit",
    *(f"privfit.{name}" for name in ("accounting", "datasets", "estimators", "preprocessing", "solvers")),
)


def public_objects():
    """Yield every public class and function once, and the public methods that it defines itself."""
    seen = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found = getattr(module, name)
            if callable(found) and getattr(found, "__module__", "").startswith("privfit"):
                seen[f"{found.__module__}.{found.__qualname__}"] = found
    for name, found in sorted(seen.items()):
        yield name, found
        if inspect.isclass(found):
            for owner in found.__mro__:
                if owner.__module__.startswith("privfit"):
                    for attribute, value in vars(owner).items():
                        function = getattr(value, "__func__", value)  # class and static methods
                        if inspect.isfunction(function) and not attribute.startswith("_"):
                            yield f"{name}.{attribute}", function


OBJECTS = dict(public_objects())


def signature_of(found):
    parameters = inspect.signature(found.__init__ if inspect.isclass(found) else found).parameters.values()
    return [p.name for p in parameters if p.name not in ("self", "cls")]


def documented_names(doc):
    fields = [*doc["Parameters"], *doc["Other Parameters"], *doc["Attributes"]]
    return {name.strip(" *") for field in fields for name in field.name.split(",")}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_public_is_documented(name):
    found = OBJECTS[name]
    text = inspect.getdoc(found)
    assert text, "it has no docstring"
    doc = NumpyDocString(text) if inspect.isclass(found) else FunctionDoc(found)
    summary = " ".join(doc["Summary"])
    assert summary.endswith("."), "the first paragraph is a sentence"
    if inspect.isclass(found) and issubclass(found, Warning | Exception):
        return
    missing = set(signature_of(found)) - documented_names(doc)
    assert not missing, f"parameters without a word: {sorted(missing)}"
    if inspect.isfunction(found):
        returns = inspect.signature(found).return_annotation
        nothing = returns in (None, "None") or returns is inspect.Signature.empty
        assert nothing or doc["Returns"] or doc["Yields"], "what is returned is not described"
