"""Promises, a file for each theorem that turns what may be spent into an epsilon."""
