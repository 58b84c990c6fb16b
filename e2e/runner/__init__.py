"""Chooses and runs the parts of e2e/test: which parts there are, which of them a change can affect, when each
starts, and what is printed.

Standard library only, since it runs before anything is installed.
"""
