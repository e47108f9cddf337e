"""Promises: one file for each theorem that turns a privacy budget into an epsilon."""
