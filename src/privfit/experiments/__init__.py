"""The tables and figures of the DP-AGD paper, run again with every algorithm held to its promise."""
