"""A headless Chromium with an empty profile, and what every page must keep: no error, no request elsewhere, no
dialog, nothing that its policy refuses."""

import pathlib
import tempfile

import axe_playwright_python
from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
# Every rule of axe-core, best practices included.
FIND_VIOLATIONS = """axe.run().then(result => result.violations.map(rule =>
    `${rule.id} (${rule.impact}): ${rule.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join("  ")}`))"""


class Browser:
    """A context manager. `tab` opens the page with a link that `eidolon link` would print."""

    def __init__(self, server):
        self.server = server
        self.address = f"http://{server.address}"
        self.problems = []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="eidolon-browser-")
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(
            executable_path="/usr/bin/chromium", headless=True, args=FLAGS, env={"HOME": self.folder.name}
        )
        return self

    def __exit__(self, *_):
        self.chromium.close()
        self.playwright.stop()
        self.folder.cleanup()

    def tab(self, route="/", theme="light", width=1280, token=True):
        context = self.chromium.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        tab = context.new_page()
        tab.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        tab.on("console", self.note_console)
        tab.on("dialog", self.note_dialog)
        tab.on("request", self.note_request)
        self.expects_dialog = False
        if token:
            tab.goto(self.link())
            tab.wait_for_selector("h1")
        tab.goto(f"{self.address}/#{route}")
        return tab

    def link(self):
        """As `eidolon link` prints it."""
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

    def violations(self, tab):
        """What axe-core finds. It is brought in past the policy, which would refuse it."""
        session = tab.context.new_cdp_session(tab)
        session.send("Runtime.evaluate", {"expression": AXE})
        return tab.evaluate(FIND_VIOLATIONS)

    def heap_bytes(self, tab):
        session = tab.context.new_cdp_session(tab)
        session.send("HeapProfiler.collectGarbage")
        session.send("Performance.enable")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "JSHeapTotalSize")
