"""What must hold of the page that `eidolon report --html` writes, in a browser without any network. Run by check.py."""

import json
import pathlib
import subprocess

from trial import expect, test
from views import expect_usable

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script> \"'`${alert(3)} \x1b[2J\u202e" + "A" * 300
# What the report decides by, so that it stays the report of a job that is over.
KEPT = {"apiVersion", "kind", "phase", "status", "type", "source"}


def spoiled(value, key=""):
    """A document with hostile text wherever it holds text."""
    if isinstance(value, dict):
        return {name: spoiled(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [spoiled(inner, key) for inner in value]
    return EVIL if isinstance(value, str) and key not in KEPT else value


def write_report(world, name, document):
    folder = pathlib.Path(world.folder)
    (folder / f"{name}.json").write_text(json.dumps(document))
    page = folder / f"{name}.html"
    command = [world.server.build / "bin/eidolon", "report", "--file", folder / f"{name}.json", "--html", page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and page.exists(), f"{done.returncode}: {done.stdout}{done.stderr}")
    return page


def open_alone(world, page, theme, width):
    """A tab with a file, all of its requests, and no way to anywhere."""
    context = world.browser.chromium.new_context(
        color_scheme=theme, viewport={"width": width, "height": 900}, offline=True
    )
    tab, asked = context.new_page(), []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: world.browser.problems.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: world.browser.problems.append(f"error: {error}"))
    tab.on("dialog", world.browser.note_dialog)
    tab.goto(page.as_uri())
    tab.wait_for_selector("h1")
    return tab, asked


@test
def a_report_is_one_page_that_asks_nobody_and_everybody_can_read(world):
    page = write_report(world, "report", world.finished)
    backgrounds = set()
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 360)):
        tab, asked = open_alone(world, page, theme, width)
        expect("by-form" in tab.inner_text("h1"), tab.inner_text("h1"))
        expect_usable(world, tab, f"report-{theme}-{width}", width)
        backgrounds.add(tab.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        expect(asked == [page.as_uri()], f"it asks for {asked[1:]}")
        tab.context.close()
    expect(len(backgrounds) == 2, f"light and dark look the same: {backgrounds}")


@test
def what_programs_and_users_write_is_text_in_a_report(world):
    tab, asked = open_alone(world, write_report(world, "hostile", spoiled(world.finished)), "light", 1280)
    text = tab.evaluate("document.documentElement.textContent")
    expect("<img src=x onerror=alert(1)>" in text, "hostile text is not shown as it is")
    for code in ("\x1b", "\u202e"):
        expect(code not in text, f"{code!r} is in the page")
    foreign = ":is(script, iframe, object, embed, img, [onclick], [onerror], [onload])"
    expect(tab.locator(foreign).count() == 0, "markup of a document has become elements")
    expect(len(asked) == 1, f"it asks for {asked[1:]}")
    found = world.browser.violations(tab)
    expect(not found, f"{found}")
    tab.context.close()
