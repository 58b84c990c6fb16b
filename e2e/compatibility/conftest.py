"""Options of e2e/compat."""

import pytest
from page import write_page
from rows import ROWS


def pytest_addoption(parser):
    parser.addoption("--only", metavar="KEY[,KEY]", help="rows that are run")
    parser.addoption(
        "--keep", action="store_true", help="write the results and docs/reference/generated/compatibility.md"
    )
    parser.addoption("--continue", dest="go_on", action="store_true", help="go on with suites that were stopped")
    parser.addoption("--minutes", type=float, default=float("inf"), help="no job of a suite begins after so many")
    parser.addoption("--tests", metavar="NAME[,NAME]", help="tests of a suite that are run, in one job")
    parser.addoption("--said", action="store_true", help="print all that the programs print")
    parser.addoption("--list", action="store_true", help="print the keys of the rows, and run none")
    parser.addoption(
        "--page",
        action="store_true",
        help="write the page from the results, and run no row",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "short: of the short form of e2e/compat")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    if config.option.list:
        for row in ROWS:
            print(f"{row.key:20} {row.group}: {row.name}{' (short form)' if row.short else ''}")
    if config.option.page:
        write_page()
    return 0 if config.option.list or config.option.page else None
