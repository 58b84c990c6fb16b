"""Options of the tests of folding."""


def pytest_addoption(parser):
    parser.addoption("--ranks", type=int, default=4, help="of each program that is predicted folded and not")
    parser.addoption("--program", nargs="+", help="programs of test_folded_programs.py that are predicted, or all")
