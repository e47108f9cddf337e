"""An invented table of people with text, dates, gaps and dollars, as a file that a new user may have."""

import csv
import random

HEADER = ["person", "born", "city", "income", "smoker", "sick"]
SCHEMA = """
[[columns]]
name = "person"
type = "id"

[[columns]]
name = "born"
type = "date"
low = 1920-01-01
high = 2010-12-31

[[columns]]
name = "city"
type = "categorical"
categories = ["Basel", "Bern", "Genf"]

[[columns]]
name = "income"
type = "numeric"
low = 0
high = 200_000
unit = "$"
thousands = ","

[[columns]]
name = "smoker"
type = "boolean"
words = ["no", "yes"]

[label]
name = "sick"
classes = ["no", "yes"]
positive = "yes"
"""


def rows_of(n, seed):
    chance = random.Random(seed)
    for i in range(n):
        year, smokes = chance.randint(1925, 2005), chance.random() < 0.3
        sick = chance.random() < (0.8 if smokes else 0.1) * (1.2 if year < 1965 else 0.8)
        yield [
            f"p{seed}-{i}",
            "" if chance.random() < 0.05 else f"{year}-0{chance.randint(1, 9)}-15",
            chance.choice(["Basel", "Bern", "Genf"]),
            f"${chance.randint(10, 200) * 1000:,}",
            "yes" if smokes else "no",
            "yes" if sick else "no",
        ]


def write_table(path, n, seed, *, without=()):
    kept = [i for i, name in enumerate(HEADER) if name not in without]
    with path.open("w", newline="", encoding="utf-8") as file:
        for row in (HEADER, *rows_of(n, seed)):
            csv.writer(file).writerow([row[i] for i in kept])
    return path
