"""Each view of the page, in both themes and on a narrow screen: axe-core finds nothing, and none is too wide."""

import pytest
from browser import Browser

# The route of each, what shows that it is there, and the fixtures whose jobs and sweeps it shows.
VIEWS = {
    "list": ("/", ".jobs tbody tr", ["job"]),
    "job": ("/jobs/default/by-form", ".kernels tbody tr", ["job"]),
    "path": ("/jobs/default/traced", "h2:text-is('Critical path')", ["traced"]),
    "submit": ("/submit", "#field-name", []),
    "compare": ("/compare?a=default%2Fby-form&b=default%2Fby-form", ".verdict", ["job"]),
    "causes": ("/compare?a=default%2Fby-form&b=default%2Fchanged", ".causes tbody tr", ["job", "changed"]),
    "clusters": ("/clusters", ".topology", ["cluster"]),
    "missing": ("/jobs/default/nothing", "text=No such job", []),
    "sweeps": ("/sweeps", ".sweeps tbody tr", ["points"]),
    "sweep": ("/sweeps/default/swept", ".chart svg", ["points"]),
    "submit-sweep": ("/submit?kind=sweep", "#field-kind", []),
    "sweep-missing": ("/sweeps/default/nothing", "text=No such sweep", []),
}
SCREENS = [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)]


@pytest.fixture(scope="module", params=SCREENS, ids=lambda screen: f"{screen[0]}-{screen[1]}")
def screen(request, chromium, page_server, pictures):
    """A browser with one tab, which goes from view to view, and its name."""
    theme, width = request.param
    with Browser(chromium, page_server, pictures) as browser:
        yield browser, browser.tab(theme=theme, width=width), f"{theme}-{width}"


@pytest.mark.parametrize("view", VIEWS)
def test_everybody_can_use_it_in_light_and_dark_and_on_narrow_screens(screen, view, request):
    browser, tab, name = screen
    route, selector, shown = VIEWS[view]
    for fixture in shown:
        request.getfixturevalue(fixture)
    browser.go(tab, route, selector)
    tab.wait_for_timeout(150)
    browser.expect_usable(tab, f"{view}-{name}")
    browser.expect_no_trouble()


SIDEWAYS = """[...document.querySelectorAll("body *")].filter((node) => node.scrollWidth > node.clientWidth + 1 &&
    ["auto", "scroll"].includes(getComputedStyle(node).overflowX)).map((node) => node.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def phone(chromium, page_server, pictures):
    """A browser with one tab as wide as a phone."""
    with Browser(chromium, page_server, pictures) as browser:
        yield browser, browser.tab(width=390)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_scrolls_sideways_on_a_phone(phone, view, request):
    browser, tab = phone
    route, selector, shown = VIEWS[view]
    for fixture in shown:
        request.getfixturevalue(fixture)
    browser.go(tab, route, selector)
    tab.wait_for_timeout(150)
    tab.evaluate("document.querySelectorAll('main details').forEach((details) => { details.open = true; })")
    tab.wait_for_timeout(150)
    over = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0, f"{view} is {over} pixels wider than the screen"
    # The form's document is a field for text, which its lines may exceed.
    wide = [node for node in tab.evaluate(SIDEWAYS) if not node.startswith("<textarea")]
    assert not wide, wide
    browser.picture(tab, f"{view}-phone")


def test_long_names_are_whole_in_texts_and_attributes(browser):
    """Kernels of PyTorch have names of 2,000 characters."""
    lengths = browser.tab().evaluate("""async () => {
        const {el, svg} = await import("/page/element.js");
        const name = "k".repeat(3000);
        const link = el("a", {title: name}, name);
        const drawn = svg("g", {"aria-label": name}, svg("title", {}, name));
        const texts = [link.title, link.textContent, drawn.getAttribute("aria-label"), drawn.textContent];
        return texts.map((text) => text.length);
    }""")
    assert lengths == [3000] * 4
