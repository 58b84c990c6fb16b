"""People's questions about a prediction: each is answered on the first screen of the page and of the report, without
scrolling at 1440x900. With --pictures these screens are kept (e2e/page/pictures makes those of the documents)."""

import re

import pytest
from page_jobs import STEPS, document, job_spec
from test_page_report import full_job, report, shown  # noqa: F401 (fixtures)

SIZE = {"width": 1440, "height": 900}
# Answers must contain this, as a regular expression.
ANSWERS = {
    "how-fast": r"[\d.,]+\s*(tokens|samples|iterations)/s",
    "how-sure": r"± [\d.]+ %\s+90 % band",
    "does-it-fit": r"Fits: \d+ % of [\d.]+ GiB",
    "what-limits": r"What limits it\s+\S+",
    "what-would-help": r"What would help\s+\S+",
    "cost": r"[\d.]+\s+GPU (hours|seconds)",
    "did-it-fail": r"iterations were measured",
    "done-when": r"Done .* after",
    "running-now": r"Running now: asleep",
    "which-is-faster": r"times as fast as [AB].* The largest cause: \S+",
}
OF_A_JOB = [name for name in ANSWERS if name not in ("running-now", "which-is-faster")]
# Null where the whole element is on the screen and nothing is above it, else why not.
TROUBLE = """(name) => {
    const node = document.querySelector(`[data-answer="${name}"]`);
    if (!node) return "is not there";
    const box = node.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) return "is not visible";
    if (box.top < 0 || box.left < 0 || box.right > innerWidth || box.bottom > innerHeight) {
        return `ends at ${box.right}, ${box.bottom}`;
    }
    const above = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return node.contains(above) || above.contains(node) ? null : `is below ${above.outerHTML.slice(0, 80)}`;
}"""


def expect_answers(tab, names, **others):
    """`others`: what another answer than that of a complete job contains."""
    assert tab.evaluate("[scrollX, scrollY, innerWidth, innerHeight]") == [0, 0, *SIZE.values()]
    for name in names:
        trouble = tab.evaluate(TROUBLE, name)
        assert trouble is None, f"the answer to {name} {trouble}"
        text = tab.inner_text(f"[data-answer='{name}']")
        pattern = others.get(name.replace("-", "_"), ANSWERS[name])
        assert re.search(pattern, text), f"{name}: {text}"


@pytest.fixture
def screen(browser):
    """Opens a view in a window of that size, and keeps a picture of its first screen."""

    def open_view(route, selector, name):
        tab = browser.tab(route, selector, width=SIZE["width"])
        tab.wait_for_timeout(300)
        if browser.pictures:
            tab.screenshot(path=browser.pictures / f"first-screen-{name}.png")
        return tab

    return open_view


def test_a_job_answers_on_its_first_screen(screen, job):
    tab = screen("/jobs/default/by-form", ".chart svg", "job")
    expect_answers(tab, OF_A_JOB)
    top = tab.evaluate("document.querySelector('.chart svg').getBoundingClientRect().top")
    assert top < SIZE["height"] - 100, "the curve of throughput begins below the first screen"


def test_a_failed_job_says_on_its_first_screen_where(screen, page_server, folder):
    script = STEPS.replace("optimizer.zero_grad()", "optimizer.zero_grad(); assert step < 3, 'no data'")
    page_server.run(document("broken", job_spec(folder, script, iterations={"warmup": 2, "measure": 20})))
    tab = screen("/jobs/default/broken", ".failure", "failed")
    expect_answers(tab, ["did-it-fail"], did_it_fail=r"AssertionError: no data \(script\.py:\d+\)")


def test_the_list_says_what_is_running_now(screen, page_server, job, folder):
    page_server.submit(document("asleep", job_spec(folder, "import time; time.sleep(600)")))
    try:
        tab = screen("/", "[data-answer=running-now]:has-text('Running now: asleep')", "jobs")
        expect_answers(tab, ["running-now"])
    finally:
        page_server.request("DELETE", page_server.jobs_path("asleep"))


def test_a_comparison_says_which_is_faster_and_why(screen, job, changed):
    tab = screen("/compare?a=default%2Fby-form&b=default%2Fchanged", ".waterfall tbody tr", "compare")
    expect_answers(tab, ["which-is-faster"])
    assert tab.evaluate("document.querySelector('.waterfall').getBoundingClientRect().top") < SIZE["height"] - 100


def test_a_sweep_has_its_points_on_the_first_screen(screen, points):
    tab = screen("/sweeps/default/swept", ".chart svg", "sweep")
    assert "The fastest is" in tab.inner_text(".hero")


def resized(tab):
    tab.set_viewport_size(SIZE)
    tab.wait_for_timeout(200)
    return tab


def test_a_report_answers_on_its_first_screen(shown, reader):  # noqa: F811
    job, what_ifs = full_job()
    tab = resized(shown(job, whatIfs=what_ifs))
    expect_answers(tab, OF_A_JOB)
    if reader.pictures:
        tab.screenshot(path=reader.pictures / "first-screen-report.png")


def test_a_running_job_says_when_it_will_be_done(shown):  # noqa: F811
    job, _ = full_job()
    job["status"] |= {"phase": "Running", "conditions": []}
    del job["status"]["completionTime"]
    job["status"]["progress"] = {"iteration": 5, "of": 20, "percent": 25, "remainingSeconds": 200, "launches": 5}
    tab = resized(shown(job))
    done = r"Iteration 5 of 20, 3 min 20 s left: done at about \d\d:\d\d"
    expect_answers(tab, ["how-fast", "how-sure", "done-when"], done_when=done)
