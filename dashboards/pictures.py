#!/usr/bin/env python3
"""Pictures of the dashboards: docs/dashboards/NAME.svg, drawn from a real run's data.

    dashboards/pictures.py --check                              whether each dashboard has its picture, of its queries
    dashboards/pictures.py [--build DIR] [--python DIR]         runs jobs, asks every query, draws; needs Prometheus
    dashboards/pictures.py --folder DIR                         the same, elsewhere than in docs

There is no Grafana here. `eidolon up` runs a few jobs of two servers beside a Prometheus, which scrapes its /metrics;
the queries of every panel are then asked of that Prometheus with Grafana's variables filled in, and drawn where the
dashboard has the panel. Prometheus is that of PATH, or the one that e2e/kube/cluster has built.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "e2e" / "harness"))
import picture  # noqa: E402
from rules import program_of_prometheus  # noqa: E402
from server import Server, verdict  # noqa: E402

BOARDS = ROOT / "helm/eidolon/files/dashboards"
PICTURES = ROOT / "docs/dashboards"
INTERVAL_SECONDS = 1
WIDTHS = (2048, 4096, 8192)
GBPS = (100, 200, 400)  # Of the NICs, in the sweep.
LABEL = (
    "Drawn by dashboards/pictures.py from this dashboard's queries and a run of {jobs} small jobs of 2 servers x 2 H100 "
    "and a sweep of {points} points by eidolon up; not a screenshot of Grafana. Commit {commit}."
)
# What eidolon up cannot have, by dashboard and panel.
ELSEWHERE = {
    ("fleet", "Requests to the API server"): "there is no Kubernetes",
    ("fleet", "Reconciles"): "there is no Kubernetes",
    ("fleet", "Calls between services"): "all services are one process",
    ("job", "Launches"): "agents are scraped on Kubernetes only",
}
TRAIN = """
import os, sys, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
width = int(sys.argv[1])
model = torch.nn.Sequential(*[torch.nn.Linear(width, width, dtype=torch.bfloat16) for _ in range(8)]).cuda()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
batch = torch.empty(4096, width, device="cuda", dtype=torch.bfloat16)
for step in range(10000):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def problems_of(folder):
    """One line for each dashboard whose picture is missing or of other queries, and for each panel that is empty for
    no known cause."""
    for path in sorted(BOARDS.glob("*.json")):
        board, drawn = json.loads(path.read_text()), folder / f"{path.stem}.svg"
        if not drawn.exists():
            yield f"{path.name} has no picture {drawn.name}"
            continue
        text = drawn.read_text()
        if f"data-queries='{picture.digest(board)}'" not in text or "not a screenshot of Grafana" not in text:
            yield f"{drawn.name} is of former queries: run dashboards/pictures.py"
        panels = re.findall(r"<g class='panel' data-title=\"([^\"]*)\" data-series='(\d+)'>(.*?)</g>", text, re.S)
        if [title for title, _, _ in panels] != [panel["title"] for panel in board["panels"]]:
            yield f"{drawn.name} shows other panels"
        for title, series, body in panels:
            if (series == "0") != (picture.EMPTY in body):
                yield f"{drawn.name}: '{title}' does not say whether it is empty"
            if series == "0" and (path.stem, title) not in ELSEWHERE:
                yield f"{drawn.name}: '{title}' has no data"


class Prometheus:
    """Scrapes one address into a folder of its own; a context manager."""

    def __init__(self, program, folder, address, token):
        self.folder = pathlib.Path(folder)
        (self.folder / "token").write_text(token)
        scrape = {
            "job_name": "eidolon",
            "honor_labels": True,
            "authorization": {"credentials_file": str(self.folder / "token")},
            "static_configs": [{"targets": [address], "labels": {"namespace": "default", "pod": "eidolon-up"}}],
        }
        every = {"scrape_interval": f"{INTERVAL_SECONDS}s", "scrape_timeout": f"{INTERVAL_SECONDS}s"}
        # JSON is YAML, too.
        (self.folder / "prometheus.yml").write_text(json.dumps({"global": every, "scrape_configs": [scrape]}))
        self.program, self.address, self.process = program, None, None

    def __enter__(self):
        log = self.folder / "prometheus.log"
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [
                    self.program,
                    f"--config.file={self.folder}/prometheus.yml",
                    f"--storage.tsdb.path={self.folder}/series",
                    "--web.listen-address=127.0.0.1:0",
                ],
                stdout=out,
                stderr=out,
            )
        end = time.monotonic() + 60
        while not (found := re.search(r'msg="Listening on" .*address=(\S+)', log.read_text())):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Prometheus did not start: {log.read_text()[-2000:]}")
            time.sleep(0.1)
        self.address = found[1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)

    def series(self, query, start, end):
        """[(labels, [(unix seconds, value)])] over the run, one point for each scrape."""
        asked = urllib.parse.urlencode({"query": query, "start": start, "end": end, "step": INTERVAL_SECONDS})
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/query_range?{asked}", timeout=30) as answer:
                found = json.loads(answer.read())["data"]["result"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"Prometheus refuses {query}: {error.read().decode()[:500]}") from error
        return [(one["metric"], [(float(at), float(value)) for at, value in one["values"]]) for one in found]


def document(name, width, directory):
    # The last job declares no tokens.
    declared = {"tokens": 4 * 4096, "parameters": 8 * width**2} if width != WIDTHS[-1] else {}
    spec = {
        "cluster": {"servers": 2, "server": {"preset": "dgx-h100", "gpusPerServer": 2}},
        "servers": 2,
        "ranksPerServer": 2,
        "command": ["torchrun", "train.py", str(width)],
        "code": {"directory": str(directory)},
        "iterations": {"warmup": 5, "measure": 400, **declared},
        "hostModel": {"kind": "fixed"},
        "values": {"compute": False},
    }
    kind = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationJob"}
    return json.dumps({**kind, "metadata": {"name": name}, "spec": spec})


def run_sweep(server, directory):
    """A job on every speed of its NICs."""
    spec = json.loads(document("nics", WIDTHS[0], directory))["spec"]
    spec["iterations"]["measure"] = 20
    spec["cluster"]["server"]["nics"] = {"count": 2}
    kind = {"apiVersion": "eidolon.dev/v1alpha1", "kind": "SimulationSweep", "metadata": {"name": "nics"}}
    # Held at first, as its user may hold it.
    sweep = {**kind, "spec": {"job": spec, "matrix": {"cluster.server.nics.gbps": GBPS}, "suspend": True}}
    path = "/api/v1/namespaces/default/simulationsweeps"
    status, answer = server.request("POST", path, json.dumps(sweep))
    if status == 201:
        time.sleep(5 * INTERVAL_SECONDS)
        patch = json.dumps({"spec": {"suspend": False}})
        status, answer = server.request("PATCH", f"{path}/nics", patch, kind="application/merge-patch+json")
    end = time.monotonic() + 600
    while status in (200, 201) and answer["status"]["phase"] != "Complete" and time.monotonic() < end:
        time.sleep(INTERVAL_SECONDS)
        status, answer = server.request("GET", f"{path}/nics")
    if status not in (200, 201) or answer["status"]["phase"] != "Complete":
        raise RuntimeError(f"the sweep: {status}: {answer}")


def filled_in(query, job):
    """A query as Grafana would send it, with the first job chosen where one is."""
    query = query.replace("$__rate_interval", f"{4 * INTERVAL_SECONDS}s")
    # Where several may be chosen, all are.
    query = query.replace('=~"$namespace"', '=~".*"').replace("$namespace", "default")
    query = query.replace("$simulation_job", job).replace("$jobs", ".*")
    if "$" in query:
        raise RuntimeError(f"a variable is left in {query}")
    return query


def series_of(panel, prometheus, job, start, end):
    found = []
    for target in panel["targets"]:
        for labels, values in prometheus.series(filled_in(target["expr"], job), start, end):
            found.append((picture.legend(target["legendFormat"], labels), values))
    return found


def draw_all(a, program, folder):
    code = pathlib.Path(folder) / "code"
    code.mkdir()
    (code / "train.py").write_text(TRAIN)
    commit = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], text=True).strip()
    label = LABEL.format(jobs=len(WIDTHS), points=len(GBPS), commit=commit)
    with Server(a.build, a.python, pathlib.Path(folder)) as server:
        with Prometheus(program, folder, server.address, server.token()) as prometheus:
            start = time.time()
            names = [f"mlp-{width}" for width in WIDTHS]
            for name, width in zip(names, WIDTHS):
                server.submit(document(name, width, code))
            for name in names:
                ended = verdict(server.wait(name, 600))
                if ended["type"] != "Complete":
                    raise RuntimeError(f"{name} ended as {ended}\n{server.logs(name)[-2000:]}")
            run_sweep(server, code)
            time.sleep(3 * INTERVAL_SECONDS)
            end = time.time()
            a.folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(BOARDS.glob("*.json")):
                board = json.loads(path.read_text())
                causes = {title: cause for (name, title), cause in ELSEWHERE.items() if name == path.stem}
                found = {p["title"]: series_of(p, prometheus, names[0], start, end) for p in board["panels"]}
                (a.folder / f"{path.stem}.svg").write_text(picture.draw(board, found, start, end, label, causes))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", default=ROOT / "build" / "release")
    parser.add_argument("--python")
    parser.add_argument("--folder", type=pathlib.Path, default=PICTURES)
    a = parser.parse_args()
    if not a.check:
        program = program_of_prometheus("prometheus")
        if program is None:
            sys.exit("pictures: no prometheus in PATH, and e2e/kube/cluster has built none")
        a.python = a.python or subprocess.check_output([ROOT / "e2e" / "environment"], text=True).strip()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that server and jobs are ended, too.
        with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
            draw_all(a, program, folder)
    problems = list(problems_of(a.folder))
    print("\n".join(problems) or f"{len(list(BOARDS.glob('*.json')))} dashboards have their pictures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
