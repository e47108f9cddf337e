"""`make bench`: the runner, the file of rows, and the page that is made of it."""

import importlib
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    names = ("page", "pictures", "rows")
    parts = {name: importlib.import_module(f"performance.{name}") for name in names}
    return SimpleNamespace(**parts, main=importlib.import_module("performance.__main__"))


@pytest.fixture
def measured(bench, monkeypatch):
    """The cases that were measured, of a section of two."""
    found = []

    def measure(case):
        found.append(case)
        return {"seconds": float(len(found))}

    cases = {case: lambda case=case: measure(case) for case in ("small", "large")}
    monkeypatch.setattr(bench.main, "SECTIONS", {"toy": cases})
    return found


def started(bench, monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["performance", *map(str, options)])
    bench.main.main()


def test_a_run_goes_on_where_it_stopped_and_measures_again_if_asked(bench, measured, monkeypatch, tmp_path):
    path = tmp_path / "rows.csv"
    started(bench, monkeypatch, "--csv", path, "--cases", "large")
    assert measured == ["large"]
    started(bench, monkeypatch, "--csv", path)
    assert measured == ["large", "small"]
    known = bench.rows.Results(bench.rows.read(path))
    assert known.cases("toy") == ["small", "large"]  # in the order of the section
    assert known.value("toy", "large", "seconds") == 1.0
    started(bench, monkeypatch, "--csv", path, "--again", "toy")
    assert measured == ["large", "small", "small", "large"]
    known = bench.rows.Results(bench.rows.read(path))
    assert known.ratio("toy", "large", "seconds", "seconds") == 1.0
    assert known.value("toy", "large", "seconds") == 4.0


def results_of(bench, **fits):
    """Return results in which privfit took so many seconds on Adult, and scikit-learn one."""
    case, values = "Adult, sparse", {"privfit, s": 0.5, "scikit-learn, s": 1.0} | fits
    return bench.rows.Results(
        {bench.rows.Place("fits", case, name): bench.rows.Row(value, "") for name, value in values.items()}
    )


def test_aims_are_met_missed_or_not_measured(bench):
    line = "| secure fit / scikit-learn, Adult, sparse | at most 1 |"
    assert f"{line} 0.50 | yes |" in bench.page.aims(results_of(bench))
    assert f"{line} 1.50 | **no** |" in bench.page.aims(results_of(bench, **{"privfit, s": 1.5}))
    line = f"| first fit ever, the default | at most 5 | {bench.page.NOTHING} | not measured |"
    assert line in bench.page.aims(results_of(bench))


def test_variation_of_a_pass_is_that_of_tables_beyond_the_cache(bench):
    times = {"10,000": 1.0, "300,000": 60.0, "5,000,000": 1100.0}
    results = bench.rows.Results(
        {
            bench.rows.Place("records", case, "one pass, ms"): bench.rows.Row(time, "")
            for case, time in times.items()
        }
    )
    assert bench.page.growth_beyond_cache(results) == pytest.approx(0.1)


def test_aims_hold_the_overheads_of_dask(bench, monkeypatch, tmp_path):
    monkeypatch.setattr(bench.page, "PARTITIONS", tmp_path / "parts.csv")
    line = "| fit on Dask / in one place, the most of all partitions | at most 1.20 |"
    assert f"{line} {bench.page.NOTHING} | not measured |" in bench.page.aims(results_of(bench))
    bench.page.PARTITIONS.write_text("cluster,overhead\na,1.1\nb,1.3\n")
    assert f"{line} 1.30 | **no** |" in bench.page.aims(results_of(bench))


def test_capacity_is_extrapolated_by_record_and_says_so(bench):
    measured = {"2": (0.5, 4.0), "20": (2.0, 50.0)}
    results = bench.rows.Results(
        {
            bench.rows.Place("blocks", f"Parquet, {size} GB", name): bench.rows.Row(value, "")
            for size, values in measured.items()
            for name, value in zip(("memory, GB", "fit of 20 passes, s"), values, strict=True)
        }
    )
    lines = [line.split(" | ") for line in bench.page.capacity(results).splitlines()[2:]]
    assert [line[-1] for line in lines] == ["measured |"] * 2 + ["extrapolated |"] * 2
    # a further gigabyte takes 1.5 / 18, as between the two that were measured
    assert [line[1] for line in lines] == ["0.50", "2", "17", "83.7"]
    assert [line[2] for line in lines] == ["4", "50", "500", "2,500"]


def test_pages_say_how_much_memory_a_record_takes(bench):
    measured = bench.page.bytes_per_record(bench.rows.Results(bench.rows.read()))
    said = [
        int(found)
        for page in ("performance.md", "scale.md")
        for found in re.findall(r"(\d\d) bytes", (ROOT / "docs" / page).read_text())
    ]
    assert len(said) == 3
    assert said == pytest.approx([measured] * 3, abs=2.5)


def ratios(results, section, cases):
    """Return the least and the largest ratio to scikit-learn of some cases, with one digit."""
    found = [results.ratio(section, case, "privfit, s", "scikit-learn, s") for case in cases]
    return f"{min(found):.1f}", f"{max(found):.1f}"


def test_the_readme_says_what_was_measured(bench):
    published = bench.rows.Results(bench.rows.read())
    said = " ".join((ROOT / "README.md").read_text().split())
    large = [case for case in published.cases("records") if int(case.replace(",", "")) >= 300_000]
    found = [
        *ratios(published, "records", large),
        *ratios(published, "fits", ["500,000 x 120", "4,900,000 x 120"]),
    ]
    low, high = min(found, key=float), max(found, key=float)
    assert f"300,000 to 5 million records, a private fit takes {low} to {high} times as long" in said
    (small,) = {*ratios(published, "records", ["10,000"])}
    assert f"On 10,000 records of 40 columns it takes {small} times as long" in said
    low, high = ratios(published, "columns", ["100", "300", "1,000", "2,000"])
    assert f"on 100,000 records of 100 to 2,000 columns {low} to {high} times" in said
    low, high = ratios(published, "density", published.cases("density"))
    assert f"sparse tables of a thousand columns {low} to {high} times" in said


def test_the_questions_say_what_was_measured(bench):
    published = bench.rows.Results(bench.rows.read())
    said = " ".join((ROOT / "docs" / "faq.md").read_text().split())

    def of(case, section):
        names = [place.quantity for place in published.rows if (place.section, place.case) == (section, case)]
        own = [name for name in names if name in ("privfit, s", "secure, s", "seeded, s")]
        return [published.value(section, case, name) for name in own]

    adult = [*of("Adult, sparse", "fits"), *of("Adult, dense", "fits"), *of("Adult, sparse", "noise")]
    assert f"{min(adult):.1f} to {max(adult):.1f} seconds for the 32,561 people of Adult" in said
    wide = [*of("500,000 x 120", "fits"), *of("500,000 x 120", "noise"), *of("1", "cores"), *of("2", "cores")]
    assert f"{min(wide):.1f} to {max(wide):.1f} seconds for half a million rows of 120 columns" in said
    first = [published.value("compiling", case, "first fit, s") for case in published.cases("compiling")]
    assert f"takes {min(first):.0f} to {max(first):.0f} seconds" in said


def test_the_page_and_the_pictures_are_made_of_the_published_rows(bench):
    pages, results = [path.read_text() for path in bench.page.PAGES], bench.rows.Results(bench.rows.read())
    marks = [mark[1] for page in pages for mark in bench.page.MARK.findall(page)]
    assert sorted(marks) == sorted(bench.page.PARTS)
    for page in pages:
        assert bench.page.filled(page, results) == page, "run `make bench`"
    assert bench.page.PICTURES.keys() == bench.pictures.CHARTS.keys()
    for name in re.findall(r"pictures/(bench-[a-z]+\.svg)", pages[0]):
        assert bench.pictures.digest() in (bench.pictures.FOLDER / name).read_text()


def test_rows_are_of_known_cases_in_their_order(bench):
    published = bench.rows.Results(bench.rows.read())
    assert {place.section for place in published.rows} <= bench.main.SECTIONS.keys()
    for section, cases in bench.main.SECTIONS.items():
        measured = published.cases(section)
        assert measured == [case for case in cases if case in measured]
