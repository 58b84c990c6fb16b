"""A real Prometheus that scrapes one server, and the dashboards' queries as Grafana would send them to it."""

import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

INTERVAL_SECONDS = 1


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

    def ask(self, path, **parameters):
        """Returns `data` of an answer of its HTTP interface."""
        try:
            address = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
            with urllib.request.urlopen(address, timeout=30) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"Prometheus refuses {parameters}: {error.read().decode()[:500]}") from error

    def series(self, target, job, start, end):
        """Returns the series of a panel's query with that job chosen, [{"metric", "values"}]: one point per scrape, or
        that of the end for an instant query."""
        query = filled_in(target["expr"], job)
        if target.get("instant"):
            found = self.ask("query", query=query, time=end)["result"]
            return [{"metric": one["metric"], "values": [one["value"]]} for one in found]
        return self.ask("query_range", query=query, start=start, end=end, step=INTERVAL_SECONDS)["result"]


def filled_in(query, job):
    """A query as Grafana would send it with that job chosen."""
    query = query.replace("$__rate_interval", f"{4 * INTERVAL_SECONDS}s")
    # Where several may be chosen, all are.
    query = query.replace('=~"$namespace"', '=~".*"').replace("$namespace", "default")
    query = query.replace("$simulation_job", job).replace("$jobs", ".*")
    if "$" in query:
        raise RuntimeError(f"a variable is left in {query}")
    return query
