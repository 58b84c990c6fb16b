"""What must hold of the page's sweeps, with real ones. Run by check.py."""

import csv
import json
import pathlib
import textwrap
import time

import metrics
from trial import expect, test
from views import expect_usable, expect_views_usable

SWEEPS = "/api/v1/namespaces/default/simulationsweeps"
STEPS = """
    import torch
    weight = torch.zeros(2048, 2048, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    for step in range(8):
        loss = (torch.ones(4096, 2048, device="cuda", dtype=torch.bfloat16) @ weight).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
GPUS = ["H100-SXM5-80GB", "B200-SXM-180GB"]
ROWS = "document.querySelectorAll('.points tbody tr').length"
# What a name or a value may hold to trick who reads it.
MARK = "<img src=x onerror=alert(7)>\"'`${alert(8)}"
ESCAPES = "\x1b[2J\x1b]0;title\x07\u202eback"


def job_spec(world, script):
    """Of a job of one rank."""
    world.count += 1
    directory = pathlib.Path(world.folder) / f"swept{world.count}"
    directory.mkdir()
    (directory / "script.py").write_text(textwrap.dedent(script))
    return {
        "cluster": {"servers": 1, "server": {"gpu": GPUS[0], "gpusPerServer": 1}},
        "command": ["python", "script.py"],
        "code": {"directory": str(directory)},
        "iterations": {"warmup": 2, "measure": 3, "tokens": 4096},
        "hostModel": {"kind": "fixed"},
    }


def sweep_document(world, name, matrix, script=STEPS, **more):
    """`more`: of its spec."""
    return {
        "apiVersion": "eidolon.dev/v1alpha1",
        "kind": "SimulationSweep",
        "metadata": {"name": name},
        "spec": {"job": job_spec(world, script), "matrix": matrix, **more},
    }


def create_sweep(world, document):
    status, answer = world.server.request("POST", SWEEPS, json.dumps(document), kind="application/json")
    expect(status == 201, f"creating the sweep: {status}: {answer}")


def get_sweep(world, name):
    return world.server.request("GET", f"{SWEEPS}/{name}")[1]


def await_gone(world, name):
    deadline = time.monotonic() + 60
    while world.server.request("GET", f"{SWEEPS}/{name}")[0] != 404:
        expect(time.monotonic() < deadline, f"the sweep {name} is still there")
        time.sleep(0.1)


def delete_sweep(world, name):
    world.server.request("DELETE", f"{SWEEPS}/{name}")
    await_gone(world, name)


def column_texts(tab, title):
    """The cells of a column of the table of points, in the order shown."""
    return tab.evaluate(f"""(() => {{
        const heads = [...document.querySelectorAll('.points thead th')];
        const at = heads.findIndex(head => head.innerText.trim().startsWith({json.dumps(title)}));
        return [...document.querySelectorAll('.points tbody tr')].map(row => row.children[at].innerText.trim());
    }})()""")


@test
def a_sweep_is_submitted_by_the_form_and_followed_to_its_end(world):
    spec = job_spec(world, STEPS)
    tab = world.browser.tab("/sweeps")
    tab.wait_for_selector("text=No sweeps yet")
    expect_usable(world, tab, "sweeps-none", 1280)
    tab.click(".empty a:text-is('New sweep')")
    tab.wait_for_selector("#field-kind")
    expect(tab.input_value("#field-kind") == "sweep", "the form is not one of a sweep")
    values = {
        "name": "Wrong Name",
        "preset": "",
        "gpu": "H100-SXM5-80GB",
        "gpus": "1",
        "directory": spec["code"]["directory"],
    }
    for name, value in (values | {"command": "python script.py", "tokens": "4096", "warmup": "-1"}).items():
        tab.fill(f"#field-{name}", value)
    tab.click("button[type=submit]")
    tab.wait_for_selector(".field.wrong #field-name[aria-invalid=true]")
    expect("lower-case" in tab.inner_text("#field-name-note"), "the name's message is not the API's")
    tab.fill("#field-name", "by-form-sweep")
    tab.click("button[type=submit]")
    world.browser.until(tab, "document.querySelector('#field-name').getAttribute('aria-invalid') !== 'true'")
    tab.wait_for_selector(".field.wrong #field-warmup")
    tab.fill("#field-warmup", "2")
    tab.fill("#field-measure", "3")
    written = tab.input_value("#document")
    matrix = f"cluster.server.gpu: [{GPUS[0]}, {GPUS[1]}]"
    expect(matrix in written and "kind: SimulationSweep" in written, written)
    price = f"  price: {{{GPUS[0]}: 2.5, {GPUS[1]}: 6}}\n"
    tab.fill("#document", written.replace(matrix, f"{matrix}\n    replay.hostFactor: [much, more]") + price)
    tab.click("button[type=submit]")
    tab.wait_for_selector("[role=alert] code:text-is('/spec/matrix/replay.hostFactor')")
    tab.fill("#document", written.replace(matrix, f"{matrix}\n    replay.hostFactor: [1, 0.5]") + price)
    tab.click("button[type=submit]")
    tab.wait_for_selector("h1:text-is('by-form-sweep')")
    tab.wait_for_selector(".job-head .tag.phase-complete", timeout=90000)
    expect("4 of 4 points" in tab.inner_text(".hero"), tab.inner_text(".hero"))

    points = get_sweep(world, "by-form-sweep")["status"]["points"]
    front = [point for point in points if point.get("front")]
    expect(0 < len(front) < 4, f"front: {front}")
    expect(tab.evaluate(ROWS) == 4, "there is no row for every point")
    expect(tab.locator(".points .tag.front").count() == len(front), "the table marks another front")
    expect(tab.locator(".chart path.front").count() == len(front), "the drawing marks another front")
    expect(tab.locator(".chart circle.beaten").count() == 4 - len(front), "the drawing lacks points")
    fastest = max(points, key=lambda point: point["tokensPerSecond"])
    label = tab.get_attribute(".chart svg", "aria-label")
    expect(fastest["name"] in label and f"{len(front)} of them no other" in label, label)
    expect(fastest["name"] in tab.inner_text(".hero"), "the fastest is not named")
    shown = column_texts(tab, "Tokens/s")
    wanted = sorted((round(point["tokensPerSecond"]) for point in points), reverse=True)
    expect([int(text.replace(",", "")) for text in shown] == wanted, f"{shown}, {wanted}")
    world.picture(tab, "sweep")


@test
def the_points_of_a_sweep_are_ordered_by_the_keyboard_saved_and_lead_to_their_jobs(world):
    points = get_sweep(world, "by-form-sweep")["status"]["points"]
    tab = world.browser.tab("/sweeps/default/by-form-sweep")
    world.browser.until(tab, f"{ROWS} === 4")
    tab.focus(".points thead button:text-is('gpu')")
    tab.keyboard.press("Enter")
    expect(column_texts(tab, "gpu") == [GPUS[1]] * 2 + [GPUS[0]] * 2, f"{column_texts(tab, 'gpu')}")
    expect(tab.get_attribute(".points th[title='cluster.server.gpu']", "aria-sort") == "ascending", "aria-sort")
    tab.keyboard.press("Enter")
    expect(column_texts(tab, "gpu") == [GPUS[0]] * 2 + [GPUS[1]] * 2, f"{column_texts(tab, 'gpu')}")
    expect(tab.evaluate("document.activeElement.textContent") == "gpu", "the focus is lost")

    page = world.server.request("GET", "/metrics")[1]
    found = list(metrics.differences(page))
    expect(not found, f"{found}")
    series = 'eidolon_sweep_points{namespace="default",phase="complete",simulation_sweep="by-form-sweep"} 4'
    expect(series in page, "the sweep's points have no series")

    with tab.expect_download() as saving:
        tab.click("button:text-is('CSV')")
    expect(saving.value.suggested_filename == "by-form-sweep.csv", saving.value.suggested_filename)
    lines = list(csv.DictReader(pathlib.Path(saving.value.path()).open()))
    expect([line["cluster.server.gpu"] for line in lines] == [GPUS[0]] * 2 + [GPUS[1]] * 2, f"{lines}")
    by_name = {(line["cluster.server.gpu"], line["replay.hostFactor"]): line for line in lines}
    for point in points:
        line = by_name[(point["point"]["cluster.server.gpu"], f"{point['point']['replay.hostFactor']:g}")]
        for name in ("iterationSeconds", "tokensPerSecond", "headroomBytes", "costPerUnit"):
            expect(float(line[name]) == point[name], f"{name} of {point['name']}: {line[name]}, {point[name]}")
        expect(line["front"] == str(int(point.get("front", False))) and line["phase"] == "Complete", f"{line}")
    # What a spreadsheet would take for a formula is a text there, and a number stays one.
    cells = tab.evaluate("""async () => (await import("/page/sweep_points.js")).pointsCsv(
        {spec: {matrix: {"env.A": [], "env.B": []}}},
        [...["=1+1", "+1", "-1|x", "@A1", "\\t=1", "a=1"].map((text) => ({point: {"env.A": text, "env.B": -1}}))])""")
    first = [line["env.A"] for line in csv.DictReader(cells.splitlines(keepends=True))]
    expect(first == ["'=1+1", "'+1", "'-1|x", "'@A1", "'\t=1", "a=1"], f"{first}")
    expect(cells.count('"-1"') == 6, cells)
    with tab.expect_download() as saving:
        tab.click("button:text-is('JSON')")
    saved = json.loads(pathlib.Path(saving.value.path()).read_text())
    expect(saved["status"]["points"] == points, "the saved sweep has other points")

    job = points[2]["job"]
    tab.click(f".points a:text-is('{job}')")
    tab.wait_for_selector(f"h1:text-is('{job}')")
    tab.click(".job-head a:text-is('by-form-sweep')")
    tab.wait_for_selector("h1:text-is('by-form-sweep')")
    tab.click("a:text-is('Run again')")
    world.browser.until(tab, "document.querySelector('#document').value.includes('generateName: by-form-sweep-')")
    again = tab.input_value("#document")
    expect("replay.hostFactor: [1, 0.5]" in again and "kind: SimulationSweep" in again, again)


@test
def a_sweep_is_suspended_resumed_and_deleted_from_the_page(world):
    document = sweep_document(world, "held", {"env.N": ["1", "2", "3"]}, "import time; time.sleep(600)", suspend=True)
    create_sweep(world, document)
    tab = world.browser.tab("/sweeps")
    tab.wait_for_selector(".sweeps tbody tr:has-text('by-form-sweep')")
    tab.wait_for_selector(".sweeps tbody tr:has-text('held') .tag:has-text('Suspended')")
    tab.evaluate("window.here = true")
    tab.fill("input[type=search]", "held")
    world.browser.until(tab, "document.querySelectorAll('.sweeps tbody tr').length === 1")
    tab.click("a:text-is('held')")
    tab.wait_for_selector(".warning:has-text('Suspended')")
    tab.fill("#pace", "2")
    tab.keyboard.press("Enter")
    world.browser.until(tab, "document.querySelector('.document').innerText.includes('concurrency: 2')")
    tab.focus("button:text-is('Resume')")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("button:text-is('Suspend')")
    tab.wait_for_selector(".points tbody .phase-running", timeout=30000)
    expect(get_sweep(world, "held")["spec"]["suspend"] is False, "the sweep is suspended still")
    tab.click("button:text-is('Suspend')")
    tab.wait_for_selector(".warning:has-text('jobs that exist go on')")
    world.browser.expects_dialog = True
    tab.click("button:text-is('Delete')")
    tab.wait_for_selector("text=The sweep was deleted", timeout=60000)
    world.browser.expects_dialog = False
    tab.click("nav a:text-is('Sweeps')")
    tab.wait_for_selector(".sweeps tbody tr:has-text('by-form-sweep')")
    world.browser.until(tab, "!document.querySelector('.sweeps').innerText.includes('held')")
    expect(tab.evaluate("window.here"), "the page was loaded anew")


@test
def what_users_write_in_a_sweep_is_text(world):
    matrix = {"env.<b>BOLD</b>": [MARK], "env.B": [ESCAPES, "plain"]}
    document = sweep_document(
        world, "hostile", matrix, "import sys; sys.exit('<svg onload=alert(9)> \\x1b[2J')", replays="off"
    )
    document["metadata"]["labels"] = {"evil": MARK, "escape": ESCAPES}
    create_sweep(world, document)
    tab = world.browser.tab("/sweeps/default/hostile")
    tab.wait_for_selector(".job-head .tag.phase-failed", timeout=60000)
    for summary in tab.locator(".points summary").all():
        summary.click()
    text = tab.inner_text("main")
    for mark in (MARK, "env.<b>BOLD</b>", "\\x1b[2J", "\\x1b]0;title\\x07", "\\u202eback"):
        expect(mark in text, f"{mark} is not shown as it is:\n{text}")
    foreign = "main :is(script, iframe, object, embed, b b, [onclick], [onerror], [onload]), main img, .points b"
    for route, selector in (
        ("/sweeps/default/hostile", ".points"),
        ("/sweeps", ".sweeps"),
        ("/", ".jobs"),
        ("/jobs/default/hostile-p1", ".job-head .label"),
    ):
        tab.goto(f"{world.browser.address}/#{route}")
        tab.wait_for_selector(selector)
        whole = tab.evaluate("document.documentElement.textContent")
        for code in ("\x1b", "\x07", "\u202e"):
            expect(code not in whole, f"{code!r} is in {route}")
        expect(tab.locator(foreign).count() == 0, f"what was written has become elements of {route}")
    expect_usable(world, tab, "sweep-hostile-job", 1280)
    tab.goto(f"{world.browser.address}/#/sweeps/default/hostile")
    world.browser.expects_dialog = True
    tab.click("button:text-is('Delete')")
    tab.wait_for_selector("text=The sweep was deleted")
    world.browser.expects_dialog = False
    await_gone(world, "hostile")


@test
def everybody_can_use_sweeps_in_light_and_dark_and_on_narrow_screens(world):
    routes = {
        "sweeps": ("/sweeps", ".sweeps tbody tr"),
        "sweep": ("/sweeps/default/by-form-sweep", ".chart svg"),
        "submit-sweep": ("/submit?kind=sweep", "#field-kind"),
        "sweep-missing": ("/sweeps/default/nothing", "text=No such sweep"),
    }
    expect_views_usable(world, routes)


@test
def a_sweep_that_is_deleted_elsewhere_leaves_the_list_with_its_jobs(world):
    tab = world.browser.tab("/sweeps")
    tab.wait_for_selector(".sweeps tbody tr:has-text('by-form-sweep')")
    delete_sweep(world, "by-form-sweep")
    tab.wait_for_selector("text=No sweeps yet")
    expect("by-form-sweep" not in world.server.request("GET", "/metrics")[1], "series of a deleted sweep stay")
    tab.goto(f"{world.browser.address}/#/")
    tab.wait_for_selector("h1:text-is('Jobs')")
    world.browser.until(tab, "!document.querySelector('main').innerText.includes('by-form-sweep-p')")
