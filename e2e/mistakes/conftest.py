"""The folder in which mistakes are made, a server for those that need one, and the table of messages."""

import pathlib
import sys

import pytest
from server import Server

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import mistakes
from message_table import TABLE, Table


@pytest.fixture(scope="session")
def place(folder):
    made = folder / "mistakes"
    made.mkdir()
    for file, text in mistakes.FILES.items():
        (made / file).write_text(text)
    return made


@pytest.fixture(scope="session")
def strict_server(build, torch_python, folder):
    """Without any job, whose name a message could suggest."""
    data = folder / "strict"
    data.mkdir(mode=0o700)
    with Server(build, torch_python, data=data) as running:
        yield running


@pytest.fixture(scope="session")
def table(pytestconfig):
    made = Table(pytestconfig.option.update)
    yield made
    if made.update:
        TABLE.write_text(made.page(mistakes.NAMES))
