"""The tables and figures of the DP-AGD paper, run again with algorithms that keep their promises."""
