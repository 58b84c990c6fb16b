"""Options of e2e/compat."""


def pytest_addoption(parser):
    parser.addoption("--only", metavar="KEY[,KEY]", help="rows that are run")
    parser.addoption("--keep", action="store_true", help="write the results and docs/compatibility.md")
    parser.addoption("--continue", dest="go_on", action="store_true", help="go on with suites that were stopped")
    parser.addoption("--minutes", type=float, default=float("inf"), help="no job of a suite begins after so many")
    parser.addoption("--tests", metavar="NAME[,NAME]", help="tests of a suite that are run, in one job")
    parser.addoption("--said", action="store_true", help="print all that the programs print")


def pytest_configure(config):
    config.addinivalue_line("markers", "short: of the short form of e2e/compat")
