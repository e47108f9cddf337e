"""The tables of docs/performance.md and docs/scale.md that are made from the file of rows alone.

Every part of a page stands between the marks `<!-- bench: NAME -->` and `<!-- end of bench -->`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from performance.rows import Results

ROOT = Path(__file__).parents[2]
PAGES = tuple(ROOT / "docs" / name for name in ("performance.md", "scale.md"))
PARTITIONS = ROOT / "benchmarks" / "parts.csv"  # which benchmarks/parts.py writes
MARK = re.compile(r"(<!-- bench: ([\w-]+) -->\n).*?(<!-- end of bench -->)", re.DOTALL)
NOTHING = "\N{EN DASH}"
PICTURES = {  # the captions of pictures, and their sections
    "bench-fits.svg": ("Bars of the seconds of private fits beside other libraries", ("fits",)),
    "bench-growth.svg": (
        "Seconds of fits over records, columns, density and classes",
        ("records", "columns", "density", "classes"),
    ),
    "bench-passes.svg": ("Time of one pass for each record over the number of records", ("records",)),
}

BYTES_PER_ROW = 800  # of the table of blocks.py: 200 columns in single precision
BEYOND_CACHE = 300_000  # records of 40 columns: 48 MB


def number(value: float | None) -> str:
    """Return a number with about three significant digits; a dash if there is none."""
    if value is None:
        return NOTHING
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.095 else f"{value:.2g}"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table, or a sentence that nothing was measured yet."""
    if not lines:
        return "Not measured yet.\n"
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines)) + "\n"


def _table(
    results: Results,
    section: str,
    head: str,
    quantities: Sequence[str],
    ratios: Sequence[tuple[str, str, str]] = (),
) -> str:
    """Return a section's quantities, a line for each case, and then quotients of two of them by name."""
    lines = []
    for case in results.cases(section):
        line = [case, *(number(results.value(section, case, quantity)) for quantity in quantities)]
        line += [number(results.ratio(section, case, above, below)) for _, above, below in ratios]
        lines.append(line)
    return markdown([head, *quantities, *(name for name, _, _ in ratios)], lines)


def picture(results: Results, name: str) -> str:
    """Return the line that shows a picture, or nothing if one of its sections was not measured."""
    title, sections = PICTURES[name]
    return f"![{title}](pictures/{name})\n\n" if all(map(results.cases, sections)) else ""


PRIVFIT, SKLEARN = "privfit, s", "scikit-learn, s"
STEPS = ("privfit, steps", "scikit-learn, iterations")
BESIDE = ("privfit / scikit-learn", PRIVFIT, SKLEARN)


def fits(results: Results) -> str:
    return picture(results, "bench-fits.svg") + _table(
        results,
        "fits",
        "table",
        (PRIVFIT, SKLEARN, *STEPS, "privfit, log loss", "scikit-learn, log loss"),
        [BESIDE],
    )


def rivals(results: Results) -> str:
    names = [
        name for name in ("diffprivlib", "Opacus") if any(p.quantity == f"{name}, s" for p in results.rows)
    ]
    cases = [
        case
        for case in results.cases("fits")
        if any(results.value("fits", case, f"{name}, s") is not None for name in names)
    ]
    lines = []
    for case in cases:
        line = [case]
        for name in ("privfit", *names):
            line += [number(results.value("fits", case, f"{name}, {what}")) for what in ("s", "log loss")]
        lines.append(line)
    head = ["table", *(f"{name}, {what}" for name in ("privfit", *names) for what in ("s", "log loss"))]
    return markdown(head, lines)


def growth(section: str, head: str) -> Callable[[Results], str]:
    def made(results: Results) -> str:
        quantities = [PRIVFIT, SKLEARN, "privfit, steps"]
        if section != "classes":
            quantities.insert(0, "one pass, ms")
        return _table(results, section, head, quantities, [BESIDE])

    return made


def wide(results: Results) -> str:
    quantities = (
        "table, MB",
        "memory, MB",
        "one pass, ms",
        PRIVFIT,
        "privfit, steps",
        "privfit, log loss",
        "scikit-learn, log loss",
    )
    return _table(results, "wide", "columns", quantities)


def blocks(results: Results) -> str:
    lines = []
    for case in [case for case in results.cases("blocks") if case.startswith("Parquet")]:
        quantities = ("memory, GB", "pyarrow's scan, GB/s", "taking, GB/s", "plain read, GB/s")
        line = [case, *(number(results.value("blocks", case, quantity)) for quantity in quantities)]
        line.append(number(results.value("blocks", case, "one pass, GB/s")))
        line.append(number(results.value("blocks", case, "fit of 20 passes, s")))
        lines.append(line)
    head = ["table", "memory, GB", "pyarrow's scan, GB/s", "taking, GB/s", "plain read, GB/s"]
    return markdown([*head, "one pass, GB/s", "fit of 20 passes, s"], lines)


def csv_file(results: Results) -> str:
    lines = [
        [
            name,
            number(results.value("blocks", CSV, f"{key}, s")),
            number(results.value("blocks", CSV, f"{key}, GB")),
        ]
        for name, key in (("`privfit train`", "privfit"), ("pandas and scikit-learn", "scikit-learn"))
        if results.value("blocks", CSV, f"{key}, s") is not None
    ]
    return markdown(["3 million rows, 1 GB of CSV", "seconds", "memory, GB"], lines)


def _of_partitions() -> list[dict[str, str]]:
    """Return the results of benchmarks/parts.py, a line for each cluster and number of partitions."""
    if not PARTITIONS.exists():
        return []
    with PARTITIONS.open(newline="") as file:
        return list(csv.DictReader(file))


def partitions(_results: Results) -> str:
    found = _of_partitions()
    return markdown(list(found[0]) if found else [], [list(line.values()) for line in found])


def capacity(results: Results) -> str:
    """Return the time and memory of measured tables, and estimates for tables with other numbers of records.

    Memory is extrapolated from the smallest and the largest measured table. Time is that of the largest one,
    in proportion to the records.
    """
    sizes = [2.0, 20.0, 200.0, 1000.0]  # gigabytes
    known = {
        size: (memory, seconds)
        for size in sizes
        if (memory := results.value("blocks", f"Parquet, {size:g} GB", "memory, GB")) is not None
        and (seconds := results.value("blocks", f"Parquet, {size:g} GB", "fit of 20 passes, s")) is not None
    }
    lines = []
    for size in sizes if len(known) > 1 else known:
        base = size if size in known else max(known)
        memory, seconds = known[base]
        if size != base:
            memory += (size - base) * bytes_per_record(results) / BYTES_PER_ROW
        values = (memory, seconds * size / base, size)
        head = f"{size:g} GB, {size * 1e9 / BYTES_PER_ROW:,.0f} records of 200 columns"
        lines.append([head, *map(number, values), "measured" if size in known else "extrapolated"])
    return markdown(["table", "memory, GB", "fit of 20 passes, s", "disk, GB", ""], lines)


def bytes_per_record(results: Results) -> float:
    """Return the peak memory of one more record, from the tables of 2 and 20 GB."""
    small, large = (results.value("blocks", f"Parquet, {size:g} GB", "memory, GB") for size in (2.0, 20.0))
    assert small is not None
    assert large is not None
    return (large - small) / 18.0 * BYTES_PER_ROW


# -- aims ---------------------------------------------------------------------------------------------------

CSV = "CSV, 3 million rows"
DEFAULT = "logistic regression"


def growth_beyond_cache(results: Results) -> float | None:
    """Return the variation of the time of a pass per record, among tables that do not fit into a cache."""
    sizes = {case: int(case.replace(",", "")) for case in results.cases("records")}
    each = [
        time / n
        for case, n in sizes.items()
        if n >= BEYOND_CACHE and (time := results.value("records", case, "one pass, ms")) is not None
    ]
    return max(each) / min(each) - 1.0 if len(each) > 1 else None


def _aims(results: Results) -> list[tuple[str, float | None, str, float]]:
    """Return the aims: the name, the measured number, "at most" or "at least", and the wanted number."""
    found: list[tuple[str, float | None, str, float]] = [
        (f"secure fit / scikit-learn, {case}", results.ratio("fits", case, PRIVFIT, SKLEARN), "at most", 1.0)
        for case in results.cases("fits")
    ]
    found.append(
        (
            "variation of a pass for each record, 300,000 to 5 million",
            growth_beyond_cache(results),
            "at most",
            0.1,
        )
    )
    for case in [case for case in results.cases("blocks") if case.startswith("Parquet")]:
        taking = results.ratio("blocks", case, "taking, GB/s", "pyarrow's scan, GB/s")
        one_pass = results.ratio("blocks", case, "one pass, GB/s", "plain read, GB/s")
        found += [
            (f"memory, {case}", results.value("blocks", case, "memory, GB"), "at most", 2.0),
            (f"taking / pyarrow's scan, {case}", taking, "at least", 0.7),
            (f"one pass / plain read, {case}", one_pass, "at least", 0.7),
        ]
    overheads = [float(line["overhead"]) for line in _of_partitions()]
    for what, overhead in (("least", min(overheads, default=None)), ("most", max(overheads, default=None))):
        found.append((f"fit on Dask / in one place, the {what} of all partitions", overhead, "at most", 1.2))
    slowest = [
        results.value("compiling", case, "first fit, s")
        for case in results.cases("compiling")
        if case != DEFAULT
    ]
    return [
        *found,
        (
            f"time / pandas and scikit-learn, {CSV}",
            results.ratio("blocks", CSV, PRIVFIT, SKLEARN),
            "at most",
            1.0,
        ),
        (f"memory, {CSV}", results.value("blocks", CSV, "privfit, GB"), "at most", 1.0),
        ("first fit ever, the default", results.value("compiling", DEFAULT, "first fit, s"), "at most", 5.0),
        ("first fit ever, the slowest other kind", max(filter(None, slowest), default=None), "at most", 10.0),
    ]


def aims(results: Results) -> str:
    lines = []
    for what, value, side, aim in _aims(results):
        if value is None:
            verdict = "not measured"
        else:
            verdict = "yes" if (value <= aim if side == "at most" else value >= aim) else "**no**"
        lines.append([what, f"{side} {number(aim)}", number(value), verdict])
    return markdown(["what", "aim", "measured", "met"], lines)


PARTS: dict[str, Callable[[Results], str]] = {
    "aims": aims,
    "passes": lambda results: _table(
        results,
        "passes",
        "table",
        ["table, MB", "one read, ms", "one pass, ms", "two products, ms"],
        [
            ("pass / read", "one pass, ms", "one read, ms"),
            ("pass / products", "one pass, ms", "two products, ms"),
        ],
    ),
    "fits": fits,
    "rivals": rivals,
    "noise": lambda results: _table(
        results, "noise", "table", ["secure, s", "seeded, s"], [("secure / seeded", "secure, s", "seeded, s")]
    ),
    "growth": lambda results: picture(results, "bench-growth.svg"),
    "records": lambda results: picture(results, "bench-passes.svg") + growth("records", "records")(results),
    "columns": growth("columns", "columns"),
    "density": growth("density", "share of entries that are not zero"),
    "wide": wide,
    "classes": growth("classes", "classes"),
    "cores": growth("cores", "cores"),
    "partitions": partitions,
    "blocks": blocks,
    "csv": csv_file,
    "capacity": capacity,
    "compiling": lambda results: _table(results, "compiling", "model", ["first fit, s", "next process, s"]),
}


def filled(page: str, results: Results) -> str:
    """Return the page with every part made anew."""
    return MARK.sub(lambda mark: f"{mark[1]}\n{PARTS[mark[2]](results)}\n{mark[3]}", page)
