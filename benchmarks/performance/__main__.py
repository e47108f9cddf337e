"""Measure the cases that have no row yet, then make the pages and the pictures; `make bench` calls this.

Every number is a row of benchmarks/performance.csv, with the commit of the library. A run that was stopped
continues at the next case. `--again fits growth-records` measures sections again; `--sections` measures only
the named ones. Run it on an idle machine: it takes about an hour, and 50 GB of disk for the table of 20 GB.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import privfit
from performance import blocks, compiling, fits, growth, page, passes, pictures, rows

SECTIONS: dict[str, Mapping[str, Callable[[], dict[str, float]]]] = {
    "passes": passes.CASES,
    "fits": fits.CASES,
    "noise": fits.NOISE_CASES,
    "records": growth.RECORD_CASES,
    "columns": growth.COLUMN_CASES,
    "density": growth.DENSITY_CASES,
    "wide": growth.SPARSE_COLUMN_CASES,
    "classes": growth.CLASS_CASES,
    "cores": growth.CORE_CASES,
    "blocks": blocks.CASES,
    "compiling": compiling.CASES,
}


def version() -> str:
    """Return the version of the library and the last commit that changed it."""
    command = ["git", "log", "-1", "--format=%h", "--abbrev=9", "--", "src"]
    root = Path(__file__).parents[2]
    commit = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    return f"{privfit.__version__} {commit}".strip()


def in_order(known: Mapping[rows.Place, rows.Row]) -> dict[rows.Place, rows.Row]:
    """Return all rows in the order of sections and cases, so that files can be compared."""
    order = {(name, case): k for name, cases in SECTIONS.items() for k, case in enumerate(cases)}
    sections = list(SECTIONS)
    kept = [place for place in known if (place.section, place.case) in order]
    kept.sort(key=lambda place: (sections.index(place.section), order[place.section, place.case]))
    return {place: known[place] for place in kept}


def measure(section: str, case: str, path: Path) -> None:
    """Measure a case, and write its rows."""
    found = SECTIONS[section][case]()
    measured = {rows.Place(section, case, name): rows.Row(value, version()) for name, value in found.items()}
    kept = {p: row for p, row in rows.read(path).items() if (p.section, p.case) != (section, case)}
    rows.write(in_order(kept | measured).items(), path)
    shown = "  ".join(f"{name} {value:.4g}" for name, value in found.items())
    print(f"{section}, {case}: {shown}  (load {os.getloadavg()[0]:.1f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="performance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--cases", nargs="+", help="only these cases of the sections")
    parser.add_argument("--again", nargs="+", choices=SECTIONS, default=[], help="measure these once more")
    parser.add_argument("--csv", type=Path, default=rows.PATH)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for section in [name for name in SECTIONS if name in (options.again or options.sections)]:
        for case in [case for case in SECTIONS[section] if options.cases is None or case in options.cases]:
            done = {(place.section, place.case) for place in rows.read(options.csv)}
            if section in options.again or (section, case) not in done:
                measure(section, case, options.csv)
    if options.csv == rows.PATH:
        results = rows.Results(rows.read())
        for path in page.PAGES:
            path.write_text(page.filled(path.read_text(), results))
        pictures.draw(results)


if __name__ == "__main__":
    main()
