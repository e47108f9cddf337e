"""MOSTLY NOT PRIVATE: what the program of DP-AGD's authors computes, written anew from its behaviour.

The program is github.com/ppmlguy/DP-AGD at commit 025dde9; docs/authors.md cites file and line of everything
that is done here as it is done there. Nothing here is a solver: no name and no estimator leads to it, because
only PrivGene and SGD-Adv keep the promise that they state.
"""
