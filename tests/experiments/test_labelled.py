"""Tables with labels say once what all of their lines have in common."""

from privfit.experiments.claims.labelled import labelled, most_common

LABELS = ["{}:", "{}", "over {}"]


def test_a_label_that_all_lines_share_goes_to_the_title_and_none_is_repeated():
    lines = [["Adult", "A", "C", "1"], ["Adult", "B", "C", "2"], ["BANK", "B", "C", "3"]]
    assert labelled("lead", LABELS, ["ε 1"], *lines).splitlines() == [
        "| lead over C |  | ε 1 |",
        "| --- | --- | --- |",
        "| Adult | A | 1 |",
        "|  | B | 2 |",
        "| BANK | B | 3 |",
    ]


def test_a_name_is_written_again_under_another_one():
    """The same algorithm on another table is not that of the line above, and a line never loses all names."""
    lines = [["Adult", "A", "C", "1"], ["BANK", "A", "C", "2"], ["BANK", "A", "D", "3"]]
    assert labelled("", LABELS, ["x"], *lines).splitlines()[:1] == ["| A |  | x |"]
    assert labelled("", LABELS, ["x"], *lines).splitlines()[2:] == [
        "| Adult | C | 1 |",
        "| BANK | C | 2 |",
        "|  | D | 3 |",
    ]


def test_a_single_line_keeps_its_first_name():
    assert labelled("lead", LABELS, ["x"], ["Adult", "A", "C", "1"]).splitlines() == [
        "| lead A over C | x |",
        "| --- | --- |",
        "| Adult | 1 |",
    ]


def test_a_table_without_lines_has_a_head():
    assert labelled("lead", LABELS, ["x"]) == "| lead | x |\n| --- | --- |"


def test_the_most_common_name_is_the_first_of_several():
    assert most_common(["b", "a", "a", "b", "c"]) == "b"
