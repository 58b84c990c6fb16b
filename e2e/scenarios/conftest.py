"""A server that knows the GPU with fixed durations; what has moved within its tolerance."""

import pathlib

import pytest
from job_files import JobFile

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def renew(pytestconfig):
    return pytestconfig.getoption("update", False)


@pytest.fixture(scope="session")
def engine(start_server):
    with start_server("scenarios", ["--gpu-models", HERE / "gpus"]) as server:
        yield server


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".job":
        return JobFile.from_parent(parent, path=file_path)
    return None


def pytest_terminal_summary(terminalreporter):
    reports = [report for outcome in terminalreporter.stats.values() for report in outcome]
    drifts = {line for report in reports for key, line in getattr(report, "user_properties", ()) if key == "drift"}
    if drifts:
        terminalreporter.section("predictions that moved within their tolerance (e2e/accuracy.csv)")
        for line in sorted(drifts):
            terminalreporter.write_line(line)
