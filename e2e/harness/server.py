"""Drives Eidolon the way users do: starts `eidolon up`, talks REST, waits for jobs."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENDED = ("Complete", "Failed", "Interrupted")


def environment_of(python_environment, **more):
    """Environment variables of a process that finds that Python first."""
    path = f"{python_environment}/bin:{os.environ['PATH']}"
    return dict(os.environ, PATH=path, PYTHONDONTWRITEBYTECODE="1", **more)


class Server:
    """`eidolon up` in a data folder of its own; a context manager. Ports are chosen by the system. `store`: keeps
    its jobs elsewhere, apart from its address and its log."""

    def __init__(self, build, python_environment, data=None, arguments=(), store=None):
        self.build, self.python_environment = pathlib.Path(build), pathlib.Path(python_environment)
        self.data = pathlib.Path(data or tempfile.mkdtemp(prefix="eidolon-"))
        self.store = pathlib.Path(store or self.data)
        self.arguments, self.process, self.address = list(arguments), None, None
        self.before_exec = None  # Called in the new process.
        self.log_path = self.data / "up.log"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        address_file = self.data / "address"
        address_file.unlink(missing_ok=True)
        self.log = open(self.log_path, "ab")
        where = ["--listen", "127.0.0.1:0", "--address-file", address_file]
        self.process = subprocess.Popen(
            [self.build / "bin" / "eidolon", "up", "--data-dir", self.store, *where, *self.arguments],
            stdout=self.log,
            stderr=self.log,
            env=environment_of(self.python_environment),
            preexec_fn=self.before_exec,
        )
        deadline = time.monotonic() + 30
        while not (address_file.exists() and address_file.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("eidolon up did not start:\n" + self.log_path.read_text()[-4000:])
            time.sleep(0.05)
        self.address = address_file.read_text().strip()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def processor_seconds(self):
        """Returns what it and those of its processes that ended have worked; 0 once it has ended itself."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def token(self):
        """Returns what REST asks for, as the server keeps it in its data folder."""
        path = self.store / "token"
        return path.read_text().strip() if path.exists() else ""

    def request(self, method, path, body=None, kind="application/yaml", headers=None):
        """(status, parsed JSON or text)"""
        data = body.encode() if isinstance(body, str) else body
        sent = {
            "Authorization": f"Bearer {self.token()}",
            **({"Content-Type": kind} if data else {}),
            **(headers or {}),
        }
        request = urllib.request.Request(f"http://{self.address}{path}", data=data, method=method, headers=sent)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text, what = answer.status, answer.read().decode(), answer.headers.get_content_type()
        except urllib.error.HTTPError as error:
            status, text, what = error.code, error.read().decode(), error.headers.get_content_type()
        return status, json.loads(text) if what.endswith("json") and text else text

    def jobs_path(self, name="", namespace="default"):
        return f"/api/v1/namespaces/{namespace}/simulationjobs" + (f"/{name}" if name else "")

    def submit(self, document):
        status, answer = self.request("POST", self.jobs_path(), document)
        if status != 201:
            raise RuntimeError(f"creating the job was answered {status}: {answer}")
        return answer["metadata"]["name"]

    def get(self, name):
        status, answer = self.request("GET", self.jobs_path(name))
        if status != 200:
            raise RuntimeError(f"job {name}: {status}: {answer}")
        return answer

    def logs(self, name):
        return self.request("GET", self.jobs_path(name) + "/logs")[1]

    def wait(self, name, seconds=600):
        """The job once it has ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            job = self.get(name)
            if verdict(job):
                return job
            time.sleep(0.1)
        raise TimeoutError(f"job {name} did not end within {seconds} s:\n{self.logs(name)[-4000:]}")

    def run(self, document, seconds=600):
        name = self.submit(document)
        return self.wait(name, seconds)


def verdict(job):
    """The condition that ended the job ("Complete", "Failed", "Interrupted"), or None."""
    for condition in job.get("status", {}).get("conditions", []):
        if condition["type"] in ENDED and condition["status"] in ("True", True):
            return condition
    return None


class SplitServer(Server):
    """The same with every service as a process of its own, as Kubernetes runs them."""

    def __init__(self, build, python_environment, data=None):
        super().__init__(build, python_environment, data)
        self.services, self.addresses = {}, {}
        self.log = None

    def start(self):
        self.log = open(self.data / "up.log", "ab")
        self.start_service("timing")
        self.start_service("network")
        others = ["--timing", self.addresses["timing"], "--network", self.addresses["network"]]
        self.process = self.start_service("controller", "--data-dir", self.data, *others)
        self.address = self.addresses["controller"]

    def start_service(self, name, *arguments):
        """Starts it, again at its old address if it had one, and waits until it serves."""
        errors = self.data / f"{name}.log"
        command = [self.build / "bin" / f"eidolon-{name}", "--listen", self.addresses.get(name, "127.0.0.1:0")]
        environment = environment_of(self.python_environment)
        with open(errors, "w") as file:
            process = subprocess.Popen([*command, *arguments], stdout=self.log, stderr=file, env=environment)
        self.services[name] = process
        deadline = time.monotonic() + 30
        while not (started := re.search(rf"{name}_started address=(\S+)", errors.read_text())):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"eidolon-{name} did not start:\n{errors.read_text()[-4000:]}")
            time.sleep(0.05)
        self.addresses[name] = started[1].strip('"')
        return process

    def kill_service(self, name):
        self.services[name].kill()
        self.services[name].wait()

    def stop(self):
        super().stop()
        for process in self.services.values():
            process.kill()
            process.wait()
