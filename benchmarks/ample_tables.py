"""Tables of several classes from public files, with so many records that noise should hardly matter.

These are Adult, Bank Marketing and KDDCup99 (the official files in PRIVFIT_DATA), with an unusual column as
the target. Columns are numbers between public bounds, scaled to [0, 1], on a logarithmic scale if they are
amounts, or indicators of public categories. Columns that nearly determine the target are left out.
"""

import csv
import gzip
import io
import os
from pathlib import Path

import numpy as np

ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital", "occupation", "relationship"),
    *("race", "sex", "gain", "loss", "hours", "country", "income"),
)
KDD_SYMBOLS = {1: ("tcp", "udp", "icmp")}  # services and flags nearly determine the attack
KDD_AMOUNTS = {0: 1e5, 4: 1e9, 5: 1e9, 9: 100.0, 12: 1e4, 15: 1e4, 16: 100.0, 22: 511.0, 23: 511.0}
KDD_AMOUNTS |= {31: 255.0, 32: 255.0}
KDD_RATES = (24, 25, 26, 27, 28, 29, 30, 33, 34, 35, 36, 37, 38, 39, 40)
FAMILIES = {
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "other": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster buffer_overflow "
    "loadmodule perl rootkit",
}
SCHOOLS = {"primary": range(1, 9), "high school": (9,), "college": (10, 11, 12), "degree": range(13, 17)}


def rows_of(*files: str, delimiter: str = ",") -> list[list[str]]:
    """Return the cells of all complete lines of these files."""
    found: list[list[str]] = []
    for file in files:
        text = gzip.decompress((Path(os.environ["PRIVFIT_DATA"]) / file).read_bytes()).decode()
        lines = csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True)
        found += [line for line in lines if len(line) > 2]
    return found


def number(cells: list[str], low: float, high: float) -> np.ndarray:
    """Return a column in [0, 1], the place of a number between its public bounds."""
    return (np.clip(np.array(cells, dtype=np.float64), low, high)[:, None] - low) / (high - low)


def amount(cells: list[str], high: float) -> np.ndarray:
    return np.log1p(high * number(cells, 0.0, high)) / np.log1p(high)


def indicators(cells: list[str], categories: tuple[str, ...]) -> np.ndarray:
    return (np.array(cells)[:, None] == np.array(categories)).astype(np.float64)


def adult(target: str) -> tuple[list[np.ndarray], np.ndarray]:
    rows = rows_of("adult.data.gz", "adult.test.gz")
    table = {name: [row[k] for row in rows] for k, name in enumerate(ADULT)}
    richer = indicators([cell.rstrip(".") for cell in table["income"]], (">50K",))
    columns = [number(table["age"], 17, 90), number(table["hours"], 1, 99), richer]
    columns += [
        indicators(table["sex"], ("Male",)),
        amount(table["gain"], 99999),
        amount(table["loss"], 4356),
    ]
    if target != "schooling":
        columns.append(number(table["education-num"], 1, 16))
    if target == "marital":
        columns.append(indicators(table["race"], ("White", "Black", "Asian-Pac-Islander")))
        return columns, np.array(table["marital"])
    work = ("Private", "Self-emp-not-inc", "Self-emp-inc", "Local-gov", "State-gov", "Federal-gov")
    columns.append(indicators(table["workclass"], work))
    if target == "occupation":
        married = ("Married-civ-spouse", "Never-married", "Divorced")
        columns += [indicators(table["marital"], married), indicators(table["country"], ("United-States",))]
        return columns, np.array(table["occupation"])
    jobs = ("Prof-specialty", "Craft-repair", "Exec-managerial", "Adm-clerical", "Sales", "Other-service")
    columns.append(indicators(table["occupation"], jobs))
    level = {str(years): name for name, group in SCHOOLS.items() for years in group}
    return columns, np.array([level[years] for years in table["education-num"]])


def bank() -> tuple[list[np.ndarray], np.ndarray]:
    names, *rows = rows_of("bank-full.csv.gz", delimiter=";")
    table = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    columns = [number(table["age"], 18, 95), indicators(table["marital"], ("single", "married"))]
    columns.append(indicators(table["education"], ("primary", "secondary", "tertiary")))
    columns += [indicators(table[name], ("yes",)) for name in ("default", "housing", "loan", "y")]
    columns += [amount(table["balance"], 1e5), indicators(table["contact"], ("cellular", "telephone"))]
    return columns, np.array(table["job"])


def attacks() -> tuple[list[np.ndarray], np.ndarray]:
    rows = rows_of("kddcup.data_10_percent.gz")[::5]  # 98,805 records are enough, and faster
    columns = [amount([row[k] for row in rows], high) for k, high in KDD_AMOUNTS.items()]
    columns += [number([row[k] for row in rows], 0.0, 1.0) for k in KDD_RATES]
    columns += [indicators([row[k] for row in rows], names) for k, names in KDD_SYMBOLS.items()]
    family = {f"{attack}.": name for name, members in FAMILIES.items() for attack in members.split()}
    return columns, np.array([family.get(row[-1], "normal") for row in rows])


MADE = {
    "adult-marital": lambda: adult("marital"),
    "adult-schooling": lambda: adult("schooling"),
    "adult-occupation": lambda: adult("occupation"),
    "bank-job": bank,
    "kdd-families": attacks,
}


def made(name: str) -> dict[str, np.ndarray]:
    """Return features, classes and the bounds of the features, which are 0 and 1."""
    columns, y = MADE[name]()
    X = np.hstack(columns)
    return {"X": X, "y": y, "low": np.zeros(X.shape[1]), "high": np.ones(X.shape[1])}
