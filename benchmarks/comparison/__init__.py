"""privfit beside other libraries on real tables: what docs/comparison.md shows. `make compare` runs it all.

`tables` holds the tables and their splits, `learners` says what each library is given, `measures` scores
predictions, `rows` keeps every fit as a line of benchmarks/compare.csv, and `page` makes the tables of
docs/comparison.md and `pictures` its figures of that file alone.
"""
