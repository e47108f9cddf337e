"""MOSTLY NOT PRIVATE: the algorithms of the program of DP-AGD's authors, written again from its behaviour.

The program is github.com/ppmlguy/DP-AGD at commit 025dde9; docs/authors.md cites the file and line for
everything that is computed as in that program. Nothing here is a solver, and no name or estimator leads to
it, because only PrivGene and SGD-Adv keep the promise that they state.
"""
