"""Options of the tests of a wheel."""


def pytest_addoption(parser):
    parser.addoption("--wheel", metavar="FILE", help="wheel to install (default: the one that e2e/package makes)")
