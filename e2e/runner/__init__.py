"""What e2e/test runs: which parts there are, which of them a change can affect, when each starts, and what is printed.

Standard library only, since it runs before anything is installed.
"""
