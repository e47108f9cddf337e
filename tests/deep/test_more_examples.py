import more_examples
import pytest
from hypothesis import settings


@pytest.fixture(autouse=True)
def usual(monkeypatch):
    """The usual number of examples, which holds again in the end."""
    monkeypatch.setattr(settings, "__init__", settings.__init__)
    usual = settings.default.max_examples
    yield usual
    settings.load_profile("privfit")
    assert settings().max_examples == usual


def test_every_test_tries_so_many_times_as_many_examples(usual):
    more_examples.multiply(3)
    seven = settings(max_examples=7)
    assert seven.max_examples == 21
    assert settings(seven, deadline=None).max_examples == 21
    assert settings().max_examples == 3 * usual
    assert not settings().derandomize


def test_every_test_tries_as_many_examples_as_are_asked_for():
    more_examples.try_exactly(5)
    seven = settings(max_examples=7)
    assert seven.max_examples == settings(seven, deadline=None).max_examples == settings().max_examples == 5
