"""Worked examples and experiments, one command each."""
