"""The folder in which mistakes are made, a server for those that need one, and the table of messages."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mistakes
from jobs import light_script
from message_table import TABLE, Table


@pytest.fixture(scope="session")
def place(folder):
    made = folder / "mistakes"
    made.mkdir()
    for file, text in mistakes.FILES.items():
        (made / file).write_text(text)
    for file, steps in mistakes.STEPS.items():
        (made / file).write_text(light_script(made, f"for _ in range({steps}):\n    rank.step(0)\n"))
    return made


@pytest.fixture(scope="session")
def strict_server(start_server):
    """A server without jobs: messages suggest names of existing ones."""
    with start_server("strict") as running:
        yield running


@pytest.fixture(scope="session")
def table(pytestconfig):
    made = Table(pytestconfig.option.update)
    yield made
    if made.update:
        TABLE.write_text(made.page(mistakes.NAMES))
