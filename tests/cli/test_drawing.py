from privfit.cli.drawing import bar, sparkline


def test_a_sparkline_shows_the_shape_of_the_values():
    assert sparkline([1.0, 4.0, 8.0]) == "▁▄█"
    assert sparkline([1.0, 4.0, 8.0], ascii_only=True) == ".=#"
    assert len(sparkline(list(range(1, 500)), width=50)) == 50
    assert sparkline([1.0] * 7) == "█" * 7
    assert sparkline([1.0, 4.0], top=8.0) == "▁▄"


def test_a_bar_is_as_long_as_its_share_and_never_empty():
    assert bar(0.5, width=10) == "█" * 5
    assert bar(0.5, width=10, ascii_only=True) == "#" * 5
    assert bar(1e-9) == "█"
