"""Tests the file that `eidolon report --html` writes, in a browser without any network."""

import json
import re
import subprocess

import pytest
from browser import ROOT

JOB = ROOT / "services/cli/testdata/report_job.json"  # With every field that a report shows.
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script> \"'`${alert(3)} \x1b[2J\u202e" + "A" * 300
# These fields keep their values, so that the document remains that of a finished job.
KEPT = {"apiVersion", "kind", "phase", "status", "type", "source"}
TEXT = "document.getElementById('main').innerText"
TITLES = [
    "What limits it",
    "What would help",
    "Throughput",
    "Iterations",
    "Where the time goes",
    "How sure",
    "Memory",
    "Cluster",
    "What would help",
    "Kernels and collectives",
    "Critical path",
    "To check",
    "Conditions",
    "Document",
]


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


def full_job():
    job = json.loads(JOB.read_text())
    what_ifs = job.pop("whatIfs")
    return job, what_ifs


def failed_job():
    job, _ = full_job()
    lines = "; last lines of its error output:\nTraceback\n  <b>"
    message = f"exit status 1: ValueError: no (a.py:3){lines}"
    failed = {"type": "Failed", "status": "True", "reason": "CommandFailed", "message": message}
    job["status"] |= {"phase": "Failed", "conditions": [failed]}
    return job


@pytest.fixture(scope="module")
def report(build, folder):
    return write_report(build, folder, "report", full_job()[0])


@pytest.fixture
def shown(reader, report, folder):
    """A tab with the report's file in which the data are others."""

    def show(job, **more):
        text = json.dumps({"job": job, "whatIfs": None, "version": "1.2", **more}).replace("<", "\\u003c")
        page = folder / "changed.html"
        begin, rest = report.read_text().split('id="data">')
        page.write_text(f'{begin}id="data">{text}{rest[rest.index("</script>") :]}')
        return reader.tab_of_file(page)[0]

    return show


@pytest.mark.parametrize("theme, width", [("light", 1280), ("dark", 1280), ("light", 360)])
def test_a_report_is_one_page_that_asks_nobody_and_everybody_can_read(reader, report, theme, width):
    tab, asked = reader.tab_of_file(report, theme, width)
    assert tab.inner_text("h1") == "job" and tab.title() == "job – Eidolon"
    reader.expect_usable(tab, f"report-{theme}-{width}")
    assert asked == [report.as_uri()]


def test_a_report_looks_different_in_light_and_dark(reader, report):
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    tabs = [reader.tab_of_file(report, theme)[0] for theme in ("light", "dark")]
    assert len({tab.evaluate(colour) for tab in tabs}) == 2


def test_a_report_of_a_real_job_has_the_figures_of_the_page(reader, by_form, build, folder, job):
    """Both are made by the same modules from the same document."""
    tab, _ = reader.tab_of_file(write_report(build, folder, "by-form", job))
    for selector in (".target", ".lead-figure", ".figures", "[data-answer=what-limits]"):
        assert tab.inner_text(selector) == by_form.followed.inner_text(selector), selector


def test_a_report_shows_the_figures_of_the_document_and_every_part(shown):
    job, what_ifs = full_job()
    tab = shown(job, whatIfs=what_ifs)
    text = tab.evaluate(TEXT)
    for part in (
        "53,916",
        "2.430",
        "90 % between 2.330 and 2.630 s",
        "8 ranks",
        "40.0 %",
        "5.0 %",
        "8 of 16 GPUs are unused",
        "outputs.timeline has no effect on 2 ranks",
        "Predicted by Eidolon 1.2, job created 2026-11-21T10:00:00Z.",
    ):
        assert part in text, part
    assert tab.evaluate("[...document.querySelectorAll('section:not([hidden]) h2')].map(h => h.innerText)") == TITLES
    first = tab.locator(".parts section:has(.chart)").first
    assert first.locator("h2").inner_text() == "Throughput", "the first curve is another"
    assert first.locator("svg .band").count() == 1 and first.locator("svg circle").count() == 5


def test_a_report_lists_what_would_help(shown):
    what_ifs = {
        "iterationSeconds": 2.0,
        "whatIfs": [
            {"name": "GPU <B200>", "iterationSeconds": 1.0, "change": -0.5, "fits": False},
            {"name": "NICs", "message": "too <few>"},
        ],
    }
    tab = shown(full_job()[0], whatIfs=what_ifs)
    text = tab.inner_text(".part:has(h2:text-is('What would help'))")
    for part in ("as it is, an iteration takes 2.000 s", "GPU <B200> (its memory is too small)", "1.000 s", "−50.0 %"):
        assert part in text, part
    assert "NICs – not answered: too <few>" in text
    assert "B200" not in tab.inner_text("[data-answer=what-would-help]"), "what does not fit is recommended"


def test_a_report_shows_the_diagnosis_below_the_first_figures(shown):
    job, _ = full_job()
    sentence = "Limited by Python: 3.5 ms of host work for 3.3 ms of GPU work."
    job["status"]["prediction"]["diagnosis"] = [
        {"rule": "host", "sentence": sentence, "suggestion": "CUDA graphs", "change": -0.14},
        {"rule": "other", "sentence": "Also <slow>."},
    ]
    tab = shown(job)
    limits = tab.inner_text("[data-answer=what-limits]")
    assert limits.index(sentence) < limits.index("Also <slow>.")
    assert "CUDA graphs: up to −14.0 %" in tab.inner_text("[data-answer=what-would-help]")
    assert (
        tab.evaluate("""document.querySelector('.hero').compareDocumentPosition(
        document.querySelector('.diagnosis'))""")
        == 4
    ), "the diagnosis does not follow the first figures"


def test_the_curve_of_a_running_job_leaves_room_for_the_iterations_to_come(shown):
    job, _ = full_job()
    job["status"]["phase"] = "Running"
    prediction = job["status"]["prediction"]
    ends = []
    for measured in (2, 4):
        prediction["iterationPicoseconds"] = [2_430_000_000_000] * measured
        tab = shown(job)
        chart = tab.locator(".parts section:has(h2:text-is('Throughput')) svg")
        points = chart.locator("circle")
        assert points.count() == measured
        ends.append(float(points.last.get_attribute("cx")) / float(chart.get_attribute("width")))
    assert 0.2 < ends[0] < 0.5 < ends[1] < 0.9, ends


def test_a_report_has_the_critical_path_with_its_links_and_ranks(shown):
    tab = shown(full_job()[0])
    part = tab.locator("section.part:has(h2:text-is('Critical path'))")
    assert "70.0 %" in part.inner_text() and "gemm 8192x8192x2048" in part.inner_text()
    for summary, words in (("Communication by link", "NIC 3 of server 12, out"), ("By rank", "60.0 %")):
        part.locator(f"summary:text-is('{summary}')").click()
        part.locator(f"details:has(summary:text-is('{summary}')) tbody th").first.wait_for()
        assert words in part.locator(f"details:has(summary:text-is('{summary}'))").inner_text(), summary


def test_a_report_of_a_failed_job_says_first_why_and_has_no_large_figure(shown):
    tab = shown(failed_job())
    told = tab.inner_text(".failure")
    assert "Failed: CommandFailed" in told and "exit status 1: ValueError: no (a.py:3)" in told
    assert tab.inner_text(".failure pre") == "Traceback\n  <b>"
    assert tab.locator(".large").count() == 0
    assert "until it failed" in tab.inner_text(".figures").lower()


def test_a_report_draws_the_peak_of_ten_thousand_iterations_and_stays_small(reader, build, folder):
    job, _ = full_job()
    times = [2_430_000_000_000] * 10_000
    times[6543] = 9_000_000_000_000
    job["status"]["prediction"]["iterationPicoseconds"] = times
    page = write_report(build, folder, "long", job)
    tab, _ = reader.tab_of_file(page)
    assert page.stat().st_size < 1 << 19
    reader.until(tab, "document.querySelectorAll('.chart .line').length >= 2")
    spread = tab.evaluate("""(() => {
        const heights = [...[...document.querySelectorAll('.chart .line')][1].points].map((point) => point.y);
        return Math.max(...heights) - Math.min(...heights);
    })()""")
    assert spread > 100, "the iteration that lasts four times as long is not drawn"
    assert tab.evaluate("document.querySelectorAll('*').length") < 1500


def test_what_programs_and_users_write_is_text_in_a_report(reader, build, folder):
    tab, asked = reader.tab_of_file(write_report(build, folder, "hostile", spoiled(full_job()[0])))
    text = tab.evaluate("document.getElementById('main').textContent")
    assert "<img src=x onerror=alert(1)>" in text, "hostile text is not shown as it is"
    foreign = ":is(main script, iframe, object, embed, img, [onclick], [onerror], [onload])"
    reader.expect_text(tab, foreign, "a document")
    assert len(asked) == 1
    assert not reader.violations(tab)


def test_the_policy_of_a_report_runs_no_other_script(reader, report):
    tab, _ = reader.tab_of_file(report)
    tab.evaluate("""() => {
        const script = document.createElement("script");
        try { script.text = "window.ran = 1"; } catch { return; }
        document.body.append(script);
    }""")
    assert tab.evaluate("window.ran") is None
    assert any("Trusted" in problem or "Content Security Policy" in problem for problem in reader.problems)
    reader.problems.clear()


def test_long_texts_are_cut_in_a_report_between_characters(reader, build, folder):
    job, _ = full_job()
    job["status"]["warnings"] = ["<é😀" * 20_000]
    tab, _ = reader.tab_of_file(write_report(build, folder, "texts", job))
    text = tab.inner_text(".warning >> nth=1")
    assert len(text) < 5000 and "more characters)" in text
    assert text.isprintable(), "a character is cut in two"


@pytest.mark.parametrize(
    "job",
    [
        [],
        {},
        {"status": 1},
        {"status": {"prediction": {"kernels": 1, "memory": "x"}}},
        {"metadata": {"name": 5}, "status": {"conditions": {"a": 1}, "warnings": "all"}},
        {"status": {"phase": "Complete", "prediction": {"iterationSeconds": 1, "diagnosis": {"a": []}, "target": 3}}},
    ],
    ids=str,
)
def test_a_report_takes_documents_of_another_shape(shown, job):
    text = shown(job).evaluate(TEXT)
    assert "Nothing was predicted" in text or "cannot be shown" in text or "Waiting to start" in text, text
    assert "Predicted by Eidolon 1.2" in text


def test_a_report_needs_a_script_and_says_so_without(chromium, report):
    context = chromium.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.goto(report.as_uri())
    assert "needs JavaScript" in tab.inner_text("body")
    context.close()


def test_the_price_of_a_gpu_hour_shows_costs_in_its_currency(shown):
    tab = shown(full_job()[0])
    figure = tab.locator("[data-answer=cost]")
    assert "0.08243" in figure.inner_text() and "GPU hours" in figure.inner_text()
    figure.locator("button").click()
    tab.fill("#price-amount", "2.5")
    tab.fill("#price-currency", "eur")
    tab.keyboard.press("Enter")
    figure.locator("text=€0.21").wait_for()
    assert re.search(r"€0\.027 a step, €2\.50 for each of 16 GPUs and hour", figure.inner_text()), figure.inner_text()
