"""What holds of every view of the page."""

from trial import expect


def expect_usable(world, tab, name, width):
    """Accessible, and not wider than the screen."""
    found = world.browser.violations(tab)
    expect(not found, f"{name}: {found}")
    over = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    expect(over <= 0, f"{name} is {over} pixels wider than a screen of {width}")
    world.picture(tab, name)
