"""Mechanisms, which add noise to numbers. They never see records."""
