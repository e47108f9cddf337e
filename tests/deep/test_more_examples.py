import more_examples
from hypothesis import settings


def test_every_test_tries_so_many_times_as_many_examples(monkeypatch):
    usual = settings.default.max_examples
    monkeypatch.setattr(settings, "__init__", settings.__init__)  # so that it is put back in the end
    try:
        more_examples.multiply(3)
        seven = settings(max_examples=7)
        assert seven.max_examples == 21
        assert settings(seven, deadline=None).max_examples == 21
        assert settings().max_examples == 3 * usual
        assert not settings().derandomize
    finally:
        settings.load_profile("privfit")
    assert settings().max_examples == usual
