"""What must hold of the page's sweeps, with real ones."""

import csv
import json
import pathlib
import re

import metrics
from browser import fill_in, submit
from jobs import await_that
from page_jobs import GPUS, create, job_spec, light_spec

SWEEPS = "/api/v1/namespaces/default/simulationsweeps"
ROWS = "document.querySelectorAll('.points tbody tr').length"
# A name or a value by which a user may try to deceive a reader of the page.
MARK = "<img src=x onerror=alert(7)>\"'`${alert(8)}"
ESCAPES = "\x1b[2J\x1b]0;title\x07\u202eback"


def create_sweep(server, name, spec, matrix, labels=None, **more):
    """`more`: of its spec."""
    create(server, SWEEPS, name, {"job": spec, "matrix": matrix, **more}, labels, "SimulationSweep")


def await_gone(server, name):
    await_that(f"the sweep {name} is gone", lambda: server.request("GET", f"{SWEEPS}/{name}")[0] == 404)


def delete_sweep(server, name):
    server.request("DELETE", f"{SWEEPS}/{name}")
    await_gone(server, name)


def column_texts(tab, title):
    """The cells of a column of the table of points, in the order shown."""
    return tab.evaluate(f"""(() => {{
        const heads = [...document.querySelectorAll('.points thead th')];
        const at = heads.findIndex(head => head.innerText.trim().startsWith({json.dumps(title)}));
        return [...document.querySelectorAll('.points tbody tr')].map(row => row.children[at].innerText.trim());
    }})()""")


def points_tab(browser):
    tab = browser.tab("/sweeps/default/swept")
    browser.until(tab, f"{ROWS} === 4")
    return tab


def saved_file(tab, button):
    with tab.expect_download() as saving:
        tab.click(f"button:text-is('{button}')")
    assert saving.value.suggested_filename == f"swept.{button.lower()}"
    return pathlib.Path(saving.value.path())


def test_without_sweeps_the_list_leads_to_the_form_of_one(crowded):
    tab = crowded.tab("/sweeps", "text=No sweeps yet")
    crowded.expect_usable(tab, "sweeps-none")
    tab.click(".empty a:text-is('New sweep')")
    tab.wait_for_selector("#field-kind")
    assert tab.input_value("#field-kind") == "sweep", "the form is not one of a sweep"


def test_the_form_says_what_is_wrong_with_a_sweep_until_nothing_is(browser, folder):
    tab = browser.tab("/submit?kind=sweep")
    directory = job_spec(folder, "")["code"]["directory"]
    fill_in(tab, preset="", gpu=GPUS[0], gpus="1", directory=directory, warmup="-1")
    fill_in(tab, command="python script.py", tokens="4096")
    browser.correct_name(tab, "corrected-sweep")
    tab.wait_for_selector(".field.wrong #field-warmup")
    tab.fill("#field-warmup", "2")
    written = tab.input_value("#document")
    matrix = f"cluster.server.gpu: [{GPUS[0]}, {GPUS[1]}]"
    tab.fill("#document", written.replace(matrix, f"{matrix}\n    replay.hostFactor: [much, more]"))
    submit(tab, "[role=alert] code:text-is('/spec/matrix/replay.hostFactor')")
    tab.fill("#document", written + "  suspend: true\n")
    submit(tab, "h1:text-is('corrected-sweep')")
    delete_sweep(browser.server, "corrected-sweep")


def test_a_sweep_is_submitted_by_the_form_and_followed_to_its_end(by_form_sweep, points):
    tab, front = by_form_sweep.followed, [point for point in points if point.get("front")]
    assert "4 of 4 points" in tab.inner_text(".hero")
    assert 0 < len(front) < 4
    assert tab.evaluate(ROWS) == 4, "there is no row for every point"
    assert tab.locator(".points .tag.front").count() == len(front), "the table marks another front"
    assert tab.locator(".chart path.front").count() == len(front), "the drawing marks another front"
    assert tab.locator(".chart circle.beaten").count() == 4 - len(front), "the drawing lacks points"
    fastest = max(points, key=lambda point: point["tokensPerSecond"])["name"]
    label = tab.get_attribute(".chart svg", "aria-label")
    assert fastest in label and f"{len(front)} of them no other" in label
    assert fastest in tab.inner_text(".hero"), "the fastest is not named"
    shown = [int(text.replace(",", "")) for text in column_texts(tab, "Tokens/s")]
    assert shown == sorted((round(point["tokensPerSecond"]) for point in points), reverse=True)
    by_form_sweep.picture(tab, "sweep")
    by_form_sweep.expect_no_trouble()


def test_the_points_of_a_sweep_are_ordered_by_the_keyboard_and_saved_in_that_order(browser, points):
    tab = points_tab(browser)
    tab.focus(".points thead button:text-is('gpu')")
    tab.keyboard.press("Enter")
    assert column_texts(tab, "gpu") == [GPUS[1]] * 2 + [GPUS[0]] * 2
    assert tab.get_attribute(".points th[title='cluster.server.gpu']", "aria-sort") == "ascending"
    tab.keyboard.press("Enter")
    assert column_texts(tab, "gpu") == [GPUS[0]] * 2 + [GPUS[1]] * 2
    assert tab.evaluate("document.activeElement.textContent") == "gpu", "the focus is lost"
    lines = list(csv.DictReader(saved_file(tab, "CSV").open()))
    assert [line["cluster.server.gpu"] for line in lines] == [GPUS[0]] * 2 + [GPUS[1]] * 2


def test_points_are_folded_below_their_sweep_with_their_values_as_labels(browser, points):
    tab = browser.tab(shows=".jobs .sweep-row:has-text('swept')")
    row = tab.locator(".sweep-row:has-text('swept')")
    # Beside the points there is the job whose recording they replay.
    jobs = int(re.search(r"sweep with (\d+) jobs", row.inner_text())[1])
    assert jobs >= len(points)
    assert tab.locator(".jobs .point").count() == 0, "points are listed although their sweep is folded"
    assert "swept-p" not in tab.inner_text(".jobs")
    row.locator("button").focus()
    tab.keyboard.press("Enter")
    label = "gpu B200-SXM-180GB · hostFactor 0.5"
    tab.wait_for_selector(f".jobs .point a:text-is('{label}')")
    assert tab.locator(".jobs .point").count() == jobs
    assert row.locator("button").get_attribute("aria-expanded") == "true"
    assert tab.evaluate("document.activeElement.matches('.sweep-row button')"), "the focus is lost"
    browser.expect_usable(tab, "list-unfolded")
    tab.keyboard.press("Enter")
    browser.until(tab, "document.querySelectorAll('.jobs .point').length === 0")
    tab.fill("input[type=search]", "sweep=swept")
    browser.until(tab, f"document.querySelectorAll('.jobs .point').length === {jobs}")


def test_costs_of_a_sweep_have_its_currency(browser, by_form_sweep):
    cells = browser.tab().evaluate("""async () => {
        const {meritsOf} = await import("/page/sweep_fields.js");
        const texts = [0.25, 0.00412, 12.5].map((cost) => [undefined, "USD", "EUR", "XYZ"].map((currency) =>
            meritsOf([{costPerUnit: cost}], {spec: {currency}}).cost(cost)));
        return texts;
    }""")
    assert cells[0] == ["0.25", "$0.25", "€0.25", "XYZ\u00a00.25"], cells[0]
    assert cells[1] == ["0.00412", "$0.00412", "€0.00412", "XYZ\u00a00.00412"], cells[1]
    assert cells[2][:3] == ["12.5", "$12.50", "€12.50"]
    shown = column_texts(by_form_sweep.followed, "Cost of 1 M tokens")
    assert len(shown) == 4 and all(text.startswith("€") for text in shown), shown


def test_the_points_of_a_sweep_are_saved_with_all_digits(browser, points):
    lines = csv.DictReader(saved_file(points_tab(browser), "CSV").open())
    by_name = {(line["cluster.server.gpu"], line["replay.hostFactor"]): line for line in lines}
    for point in points:
        line = by_name[(point["point"]["cluster.server.gpu"], f"{point['point']['replay.hostFactor']:g}")]
        for name in ("iterationSeconds", "tokensPerSecond", "headroomBytes", "costPerUnit"):
            assert float(line[name]) == point[name], f"{name} of {point['name']}"
        assert line["front"] == str(int(point.get("front", False))) and line["phase"] == "Complete"


def test_what_a_spreadsheet_would_take_for_a_formula_is_saved_as_text(browser):
    cells = browser.tab().evaluate("""async () => (await import("/page/sweep_points.js")).pointsCsv(
        {spec: {matrix: {"env.A": [], "env.B": []}}},
        [...["=1+1", "+1", "-1|x", "@A1", "\\t=1", "a=1"].map((text) => ({point: {"env.A": text, "env.B": -1}}))])""")
    first = [line["env.A"] for line in csv.DictReader(cells.splitlines(keepends=True))]
    assert first == ["'=1+1", "'+1", "'-1|x", "'@A1", "'\t=1", "a=1"]
    assert cells.count('"-1"') == 6, "a number has become a text"


def test_a_sweep_is_saved_as_json(browser, points):
    assert json.loads(saved_file(points_tab(browser), "JSON").read_text())["status"]["points"] == points


def test_a_point_leads_to_its_job_and_back_and_to_a_form_that_runs_the_sweep_again(browser, points):
    tab, job = points_tab(browser), points[2]["job"]
    tab.click(f".points a:text-is('{job}')")
    tab.wait_for_selector(f"h1:text-is('{job}')")
    tab.click(".job-head a:text-is('swept')")
    tab.wait_for_selector("h1:text-is('swept')")
    tab.click("a:text-is('Run again')")
    browser.until(tab, "document.querySelector('#document').value.includes('generateName: swept-')")
    again = tab.input_value("#document")
    assert "replay.hostFactor: [1, 0.5]" in again and "kind: SimulationSweep" in again


def test_what_is_scraped_of_a_sweep_is_as_the_catalogue_says(page_server, points):
    page = page_server.request("GET", "/metrics")[1]
    assert not list(metrics.differences(page))
    assert 'eidolon_sweep_points{namespace="default",phase="complete",simulation_sweep="swept"} 4' in page


def test_a_sweep_is_suspended_resumed_and_deleted_from_the_page(browser, points, folder):
    sleeping = job_spec(folder, "import time; time.sleep(600)")
    create_sweep(browser.server, "held", sleeping, {"env.N": ["1", "2", "3"]}, suspend=True)
    tab = browser.tab("/sweeps", ".sweeps tbody tr:has-text('swept')")
    tab.wait_for_selector(".sweeps tbody tr:has-text('held') .tag:has-text('Suspended')")
    tab.evaluate("window.here = true")
    browser.search(tab, "held", ".sweeps")
    tab.click("a:text-is('held')")
    tab.wait_for_selector(".warning:has-text('Suspended')")
    tab.fill("#pace", "2")
    tab.keyboard.press("Enter")
    browser.until(tab, "document.querySelector('.document').innerText.includes('concurrency: 2')")
    tab.focus("button:text-is('Resume')")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("button:text-is('Suspend')")
    tab.wait_for_selector(".points tbody .phase-running", timeout=30000)
    assert browser.server.request("GET", f"{SWEEPS}/held")[1]["spec"]["suspend"] is False
    tab.click("button:text-is('Suspend')")
    tab.wait_for_selector(".warning:has-text('jobs that exist go on')")
    browser.confirm(tab, "Delete", "The sweep was deleted")
    tab.click("nav a:text-is('Sweeps')")
    tab.wait_for_selector(".sweeps tbody tr:has-text('swept')")
    browser.until(tab, "!document.querySelector('.sweeps').innerText.includes('held')")
    assert tab.evaluate("window.here"), "the page was loaded anew"


def test_what_users_write_in_a_sweep_is_text(browser, folder):
    spec = job_spec(folder, "import sys; sys.exit('<svg onload=alert(9)> \\x1b[2J')")
    matrix, labels = {"env.<b>BOLD</b>": [MARK], "env.B": [ESCAPES, "plain"]}, {"evil": MARK, "escape": ESCAPES}
    create_sweep(browser.server, "hostile", spec, matrix, labels, replays="off")
    tab = browser.tab("/sweeps/default/hostile")
    tab.wait_for_selector(".job-head .tag.phase-failed", timeout=60000)
    for summary in tab.locator(".points summary").all():
        summary.click()
    text = tab.inner_text("main")
    for mark in (MARK, "env.<b>BOLD</b>", "\\x1b[2J", "\\x1b]0;title\\x07", "\\u202eback"):
        assert mark in text, f"{mark} is not shown as it is"
    foreign = "main :is(script, iframe, object, embed, b b, [onclick], [onerror], [onload]), main img, .points b"
    for route, selector in (
        ("/sweeps/default/hostile", ".points"),
        ("/sweeps", ".sweeps"),
        ("/", ".jobs"),
        ("/jobs/default/hostile-p1", ".job-head .label"),
    ):
        browser.go(tab, route, selector)
        browser.expect_text(tab, foreign, route)
    browser.expect_usable(tab, "sweep-hostile-job")
    browser.go(tab, "/sweeps/default/hostile")
    browser.confirm(tab, "Delete", "The sweep was deleted")
    await_gone(browser.server, "hostile")


def test_a_sweep_that_is_deleted_elsewhere_leaves_the_list_with_its_jobs(crowded, folder):
    server = crowded.server
    create_sweep(server, "brief", light_spec(folder), {"replay.hostFactor": [1, 0.5]})
    tab = crowded.tab("/sweeps")
    tab.wait_for_selector(".sweeps tbody tr:has-text('brief') .phase-complete", timeout=90000)
    assert 'simulation_sweep="brief"' in server.request("GET", "/metrics")[1]
    assert server.get("brief-p1")
    delete_sweep(server, "brief")
    tab.wait_for_selector("text=No sweeps yet")
    assert "brief" not in server.request("GET", "/metrics")[1], "series of a deleted sweep stay"
    crowded.go(tab, "/", "h1:text-is('Jobs')")
    crowded.until(tab, "!document.querySelector('main').innerText.includes('brief-p')")
