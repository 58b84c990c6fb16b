"""What holds of every view of the page."""

from trial import expect


def expect_usable(world, tab, name, width):
    """Accessible, and not wider than the screen."""
    found = world.browser.violations(tab)
    expect(not found, f"{name}: {found}")
    over = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect(over <= 0, f"{name} is {over} pixels wider than a screen of {width}")
    world.picture(tab, name)


def expect_views_usable(world, routes):
    """Each view, in both themes and on a narrow screen. `routes`: by name the route, and what shows that it is there."""
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 360)):
        tab = world.browser.tab(theme=theme, width=width)
        for name, (route, selector) in routes.items():
            tab.goto(f"{world.browser.address}/#{route}")
            tab.wait_for_selector(selector)
            tab.wait_for_timeout(150)
            expect_usable(world, tab, f"{name}-{theme}-{width}", width)
        tab.context.close()
