"""A headless Chromium with an empty profile, and what every page must keep: no error, no request elsewhere, no
dialog, nothing that its policy refuses."""

import contextlib
import functools
import pathlib
import tempfile

import environments

ROOT = pathlib.Path(__file__).resolve().parents[2]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Every rule of axe-core, best practices included.
FIND_VIOLATIONS = """axe.run().then(result => result.violations.map(rule =>
    `${rule.id} (${rule.impact}): ${rule.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join("  ")}`))"""


@contextlib.contextmanager
def launched():
    """Playwright's Chromium."""
    environments.bring("e2e/page/environment")
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory(prefix="eidolon-browser-") as home, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", headless=True, args=FLAGS, env={"HOME": home}
        )
        yield chromium
        chromium.close()


def fill_in(tab, **fields):
    """Fills the fields of the form."""
    for name, value in fields.items():
        tab.fill(f"#field-{name}", value)


def submit(tab, shows):
    tab.click("button[type=submit]")
    tab.wait_for_selector(shows)


@functools.cache
def axe():
    import axe_playwright_python

    return pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()


class Browser:
    """Tabs of one server's page, which are closed at its end; a context manager that fails where one of them had
    trouble. `server`: None where files alone are shown. `pictures`: a folder for pictures of views, or None."""

    def __init__(self, chromium, server, pictures=None):
        self.chromium, self.server, self.pictures = chromium, server, pictures
        self.address = server and f"http://{server.address}"
        self.contexts, self.problems, self.expects_dialog = [], [], False

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for context in self.contexts:
            context.close()
        if kind is None:
            self.expect_no_trouble()

    def expect_no_trouble(self):
        found, self.problems = self.problems, []
        assert not found, f"the browser says: {found}"

    def new_tab(self, theme, width, **options):
        context = self.chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900}, **options)
        self.contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        tab.on("dialog", self.note_dialog)
        return tab

    def tab(self, route="/", shows=None, theme="light", width=1280, token=True):
        """The page, opened with a link that `eidolon link` would print, once it shows what that selector names."""
        tab = self.new_tab(theme, width)
        tab.on("console", self.note_console)
        tab.on("request", self.note_request)
        if token:
            tab.goto(self.link())
            tab.wait_for_selector("h1")
        self.go(tab, route, shows)
        return tab

    def go(self, tab, route, shows=None):
        tab.goto(f"{self.address}/#{route}")
        if shows:
            tab.wait_for_selector(shows)

    def tab_of_file(self, file, theme="light", width=1280):
        """A file without any network, and the addresses that it asks for."""
        tab, asked = self.new_tab(theme, width, offline=True), []
        tab.on("request", lambda request: asked.append(request.url))
        tab.on("console", lambda message: self.problems.append(f"console: {message.text}"))
        tab.goto(file.as_uri())
        tab.wait_for_selector("h1")
        return tab, asked

    def link(self):
        """Returns the link as `eidolon link` prints it."""
        status, answer = self.server.request("POST", "/api/v1/logins", "{}", "application/json")
        assert status == 201, answer
        return f"{self.address}/#login={answer['code']}"

    def note_console(self, message):
        # That the server refuses a document is shown in the console too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.problems.append(f"console: {message.text}")

    def note_dialog(self, dialog):
        if not self.expects_dialog:
            self.problems.append(f"dialog: {dialog.message}")
        dialog.accept()

    def confirm(self, tab, button, answer):
        """Presses a button, accepts its dialog, and waits for the page's answer."""
        self.expects_dialog = True
        tab.click(f"button:text-is('{button}')")
        tab.wait_for_selector(f"text={answer}", timeout=60000)
        self.expects_dialog = False

    def note_request(self, request):
        if not request.url.startswith((self.address + "/", f"blob:{self.address}/")):
            self.problems.append(f"a request to {request.url}")

    @staticmethod
    def until(tab, condition, seconds=30):
        """The page's time in milliseconds when a condition in JavaScript holds at last. Playwright's own function
        compiles it inside of the page, which the policy refuses."""
        look = f"""new Promise((done, fail) => {{
            const end = performance.now() + {seconds * 1000};
            const holds = () => {{ try {{ return {condition}; }} catch {{ return false; }} }};
            const look = () => holds() ? done(performance.now())
                : performance.now() > end ? fail(new Error("it never holds")) : requestAnimationFrame(look);
            look();
        }})"""
        try:
            return tab.evaluate(look)
        except Exception as error:
            raise AssertionError(f"{condition}: {error}") from error

    def search(self, tab, words, table=".jobs"):
        """Searches a list, which has one row then."""
        tab.fill("input[type=search]", words)
        self.until(tab, f"document.querySelectorAll('{table} tbody tr').length === 1")

    def correct_name(self, tab, name):
        """Submits the form with a name that is refused, and with this one, with which the field is not wrong any more."""
        tab.fill("#field-name", "Wrong Name")
        submit(tab, ".field.wrong #field-name[aria-invalid=true]")
        assert "lower-case" in tab.inner_text("#field-name-note")
        tab.fill("#field-name", name)
        tab.click("button[type=submit]")
        self.until(tab, "document.querySelector('#field-name').getAttribute('aria-invalid') !== 'true'")

    @staticmethod
    def expect_text(tab, foreign, what):
        """No control characters, and none of the elements that markup in `what` would make."""
        whole = tab.evaluate("document.documentElement.textContent")
        assert not [code for code in ("\x1b", "\x07", "\x9b", "\u202e") if code in whole], what
        assert tab.locator(foreign).count() == 0, f"markup of {what} has become elements"

    def expect_usable(self, tab, name):
        """Accessible, and not wider than the screen."""
        found = self.violations(tab)
        assert not found, f"{name}: {found}"
        over = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{name} is {over} pixels wider than the screen"
        self.picture(tab, name)

    def picture(self, tab, name):
        if self.pictures:
            tab.screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def first_screen(self, tab, name):
        """A picture of what a laptop shows of the page without scrolling."""
        if self.pictures:
            before = tab.viewport_size
            tab.set_viewport_size({"width": 1440, "height": 900})
            tab.screenshot(path=self.pictures / f"{name}.png")
            tab.set_viewport_size(before)

    def violations(self, tab):
        """Returns what axe-core finds. It is brought in past the policy, which would refuse it, and stays until a
        tab loads anew."""
        if not tab.evaluate("'axe' in window"):
            session = tab.context.new_cdp_session(tab)
            session.send("Runtime.evaluate", {"expression": axe()})
            session.detach()
        return tab.evaluate(FIND_VIOLATIONS)

    def heap_bytes(self, tab):
        session = tab.context.new_cdp_session(tab)
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "JSHeapTotalSize")
