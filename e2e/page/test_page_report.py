"""What must hold of the page that `eidolon report --html` writes, in a browser without any network."""

import json
import subprocess

import pytest

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script> \"'`${alert(3)} \x1b[2J\u202e" + "A" * 300
# These fields keep their values, so that the document remains that of a finished job.
KEPT = {"apiVersion", "kind", "phase", "status", "type", "source"}


def spoiled(value, key=""):
    """A document with hostile text wherever it holds text."""
    if isinstance(value, dict):
        return {name: spoiled(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(inner, key) for inner in value]
    return EVIL if isinstance(value, str) and key not in KEPT else value


def write_report(build, folder, name, job):
    document, page = folder / f"{name}.json", folder / f"{name}.html"
    document.write_text(json.dumps(job))
    command = [build / "bin/eidolon", "report", "--file", document, "--html", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and page.exists(), done.stdout + done.stderr
    return page


@pytest.fixture(scope="module")
def report(build, folder, job):
    return write_report(build, folder, "report", job)


@pytest.mark.parametrize("theme, width", [("light", 1280), ("dark", 1280), ("light", 360)])
def test_a_report_is_one_page_that_asks_nobody_and_everybody_can_read(browser, report, theme, width):
    tab, asked = browser.tab_of_file(report, theme, width)
    assert "by-form" in tab.inner_text("h1")
    browser.expect_usable(tab, f"report-{theme}-{width}")
    assert asked == [report.as_uri()]


def test_a_report_looks_different_in_light_and_dark(browser, report):
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    tabs = [browser.tab_of_file(report, theme)[0] for theme in ("light", "dark")]
    assert len({tab.evaluate(colour) for tab in tabs}) == 2


def test_what_programs_and_users_write_is_text_in_a_report(browser, build, folder, job):
    tab, asked = browser.tab_of_file(write_report(build, folder, "hostile", spoiled(job)))
    text = tab.evaluate("document.documentElement.textContent")
    assert "<img src=x onerror=alert(1)>" in text, "hostile text is not shown as it is"
    foreign = ":is(script, iframe, object, embed, img, [onclick], [onerror], [onload])"
    browser.expect_text(tab, foreign, "a document")
    assert len(asked) == 1
    assert not browser.violations(tab)
