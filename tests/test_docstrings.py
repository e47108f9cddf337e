"""Reference documentation: everything public says what it takes and returns, in numpydoc's sections."""

import ast
import functools
import importlib
import inspect

import pytest
from numpydoc.docscrape import FunctionDoc, NumpyDocString

from privfit.schema import column
from privfit.solvers import SOLVERS

PACKAGES = (
    "privfit",
    *(
        f"privfit.{name}"
        for name in (
            "accounting",
            "datasets",
            "estimators",
            "metrics",
            "planning",
            "preprocessing",
            "publication",
            "report",
            "schema",
            "solvers",
        )
    ),
)

# A sentence says enough about these methods of a solver, because `Solver` documents the first two once and in
# full, and the others are hooks that only the template which calls them uses.
PROTOCOL = {"promise", "solve"}
HOOKS = {"shares", "choose", "again", "answer", "plan", "walk", "probability"}


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
IN_A_SENTENCE = {
    f"{solver.__module__}.{solver.__qualname__}.{method}"
    for solver in SOLVERS.values()
    for method in PROTOCOL | HOOKS
} | {
    f"{name}.{method}"  # `Feature` and `Scale` document them
    for name, found in OBJECTS.items()
    if inspect.isclass(found) and issubclass(found, column.Column)
    for method in ("read", "read_numbers", "read_days", "scaled", "step")
}
IN_FULL = sorted(
    name
    for name, found in OBJECTS.items()
    if name not in IN_A_SENTENCE and not (inspect.isclass(found) and issubclass(found, Warning | Exception))
)


def parsed(found):
    return NumpyDocString(inspect.getdoc(found)) if inspect.isclass(found) else FunctionDoc(found)


def signature_of(found):
    if getattr(found, "_is_protocol", False):  # nobody constructs one; its attributes are what it asks for
        return list(inspect.get_annotations(found))
    parameters = inspect.signature(found.__init__ if inspect.isclass(found) else found).parameters.values()
    return [p.name for p in parameters if p.name not in ("self", "cls")]


def documented_names(doc, *sections):
    fields = [field for section in sections for field in doc[section]]
    return {name.strip(" *") for field in fields for name in field.name.split(",")}


@pytest.mark.parametrize("name", OBJECTS)
def test_what_is_public_is_summed_up_in_a_sentence(name):
    found = OBJECTS[name]
    assert inspect.getdoc(found), "it has no docstring"
    assert " ".join(parsed(found)["Summary"]).endswith("."), "the first paragraph is a sentence"


@functools.cache
def docstrings_in(path):
    """Return the docstring of every class and function of a source file by its qualified name."""

    def walk(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield f"{prefix}{child.name}", ast.get_docstring(child)
                yield from walk(child, f"{prefix}{child.name}.")

    with open(path, encoding="utf-8") as file:
        return dict(walk(ast.parse(file.read()), ""))


@pytest.mark.parametrize("name", OBJECTS)
def test_the_docstring_is_written_out_in_the_source(name):
    found = OBJECTS[name]
    written = docstrings_in(inspect.getsourcefile(inspect.unwrap(found)))[found.__qualname__]
    assert written == inspect.getdoc(found), "it is completed when the module is imported"


@pytest.mark.parametrize("name", IN_FULL)
def test_every_parameter_is_documented_and_no_other(name):
    found = OBJECTS[name]
    doc, taken = parsed(found), set(signature_of(found))
    missing = taken - documented_names(doc, "Parameters", "Other Parameters", "Attributes")
    assert not missing, f"parameters without a word: {sorted(missing)}"
    unknown = documented_names(doc, "Parameters", "Other Parameters") - taken
    assert not unknown, f"parameters that do not exist: {sorted(unknown)}"


@pytest.mark.parametrize("name", [name for name in IN_FULL if inspect.isfunction(OBJECTS[name])])
def test_what_is_returned_is_described(name):
    found = OBJECTS[name]
    returns = inspect.signature(found).return_annotation
    nothing = returns in (None, "None") or returns is inspect.Signature.empty
    doc = parsed(found)
    assert nothing or doc["Returns"] or doc["Yields"]
