"""Compare privfit with other libraries on real tables for docs/comparison.md; run it by `make compare`.

`tables` has the tables and their splits, `learners` the inputs of each library, and `measures` the scores of
predictions. `rows` keeps every fit as a line of benchmarks/compare.csv. From this file alone, `page` makes
the tables of docs/comparison.md, and `pictures` its figures.
"""
