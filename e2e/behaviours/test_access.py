"""Tests access to a running server and its files."""

import contextlib
import json
import os
import pathlib
import re
import stat
import subprocess

import pytest
from jobs import await_that, light_script
from processes import listening_ports
from server import Server

SAYS_ITS_MASK = """
    print("mask", oct(os.umask(0)), flush=True)
    for _ in range(8): rank.step(0)
"""


def test_only_the_owner_uses_a_server_and_reads_its_files(world):
    server = world.server
    job = world.completed(SAYS_ITS_MASK, light=True, extra="env: [{name: SECRET, value: hidden}]")
    name = job["metadata"]["name"]
    mask = os.umask(0)
    os.umask(mask)
    assert f"mask {oct(mask)}" in server.logs(name), f"a job has another umask than its user: {server.logs(name)}"
    for path in [server.data, *pathlib.Path(server.data).rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        # The harness opened its own log before the server was there.
        assert mode & 0o077 == 0 or path.name == "up.log", f"{path.name} has mode {mode:o}"
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
        status, answer = server.request("GET", server.jobs_path(), headers=headers)
        assert status == 401 and str(server.data) in answer["detail"], f"{headers}: {status} {answer}"
    for words in (["--data-dir", server.data], ["--server", server.address, "--token-file", server.data / "token"]):
        done = world.command(*words, "get", name)
        assert done.returncode == 0 and name in done.stdout, f"{words}: {done.stderr}"
    done = world.command("--server", server.address, "get", name)
    assert done.returncode == 1 and "asks for its token" in done.stderr, f"without a token: {done}"
    if os.geteuid() == 0:
        asks = ["curl", "-sS", "--unix-socket", server.data / "eidolon.sock", "http://localhost/livez"]
        another_user = {"user": 65534, "group": 65534, "extra_groups": []}
        nobody = subprocess.run(asks, capture_output=True, text=True, **another_user)
        assert nobody.returncode != 0, f"another user is let in: {nobody.stdout}"


def test_nothing_but_rest_is_reached_over_tcp(world):
    # Another user's idle connections to ports of agents and services took all descriptors of the server.
    with world.own_server() as server:
        assert listening_ports(server.process.pid) == [int(server.address.rpartition(":")[2])], "a second port is open"
        limits = pathlib.Path(f"/proc/{server.process.pid}/limits").read_text()
        soft, hard = re.search(r"Max open files +(\d+) +(\d+)", limits).groups()
        assert soft == hard, f"the server may open {soft} files of {hard}"
    folder = world.fresh_folder()
    (folder / "script.py").write_text(light_script(folder, "print('begun', flush=True)\nos.read(os.pipe()[0], 1)"))
    with open(folder / "out", "w") as out:
        command = [world.build / "bin" / "eidolon", "run", "--", f"{world.python}/bin/python", "script.py"]
        run = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out)
    try:
        await_that((folder / "out").read_text, lambda: "begun" in (folder / "out").read_text())
        assert run.poll() is None, (folder / "out").read_text()
        assert not listening_ports(run.pid), f"a run listens at {listening_ports(run.pid)}"
    finally:
        run.terminate()
        run.wait()


def shown_in_a_terminal(run):
    """Returns what `run(terminal)` prints into a terminal until it ends, or until a line with '#login=' is there."""
    master, slave = os.openpty()
    run(os.ttyname(slave))
    os.close(slave)
    text = b""
    with contextlib.suppress(OSError):  # Nobody has the terminal open any more.
        while b"#login=" not in text or not text.endswith(b"\n"):
            text += os.read(master, 4096)
    os.close(master)
    return text.decode()


def redeem(server, link):
    code = json.dumps({"code": re.search(r"#login=([0-9a-f]+)", link)[1]})
    return server.request("POST", "/api/v1/sessions", code, "application/json", {"Authorization": ""})


def test_what_opens_the_page_is_printed_into_a_terminal_alone(world):
    # A pipe, as of `eidolon up | tee`, is no better than a file: the harness's log stands for both.
    with world.own_server() as server:
        # It answers before it says so.
        await_that("it says that it is up", lambda: "is up" in server.log_path.read_text(), 30)
        said = server.log_path.read_text()
        assert f"http://{server.address}/" in said, f"no address: {said}"
        assert server.token() not in said and "login=" not in said, f"a secret in a file: {said}"
        link = ["--data-dir", server.data, "link"]
        done = world.command(*link)
        assert done.returncode == 1 and not done.stdout and "terminal" in done.stderr, f"a link in a pipe: {done}"

        def run(terminal):
            with open(terminal, "wb", buffering=0) as out:
                world.command(*link, stdout=out, check=True)

        shown = shown_in_a_terminal(run)
        assert f"http://{server.address}/#login=" in shown and server.token() not in shown, f"the link is {shown}"
        status, session = redeem(server, shown)
        assert status == 201, f"{status} {session}"
        headers = {"Authorization": f"Bearer {session['token']}"}
        assert server.request("GET", server.jobs_path(), headers=headers)[0] == 200, "the session opens nothing"
        assert redeem(server, shown)[0] == 401, "a link works twice"
    server = world.own_server()

    def start(terminal):
        server.log_path = pathlib.Path(terminal)
        server.start()

    try:
        shown = shown_in_a_terminal(start)
        assert server.token() not in shown, f"the token in a terminal: {shown}"
        assert redeem(server, shown)[0] == 201, f"no link that works: {shown}"
    finally:
        server.stop()


def test_a_token_that_others_could_read_is_replaced(world):
    data = world.fresh_folder()
    tokens = []
    for mode, arguments in ((0o600, []), (0o600, []), (0o644, []), (0o600, ["--rotate-token"])):
        if (data / "token").exists():
            (data / "token").chmod(mode)
        with Server(world.build, world.python, data, arguments) as server:
            tokens.append(server.token())
            assert stat.S_IMODE((data / "token").stat().st_mode) == 0o600, "the token is open to others"
            assert server.request("GET", server.jobs_path())[0] == 200, "the token opens nothing"
    assert tokens[0] == tokens[1] and len(set(tokens)) == 3, f"tokens are {tokens}"
    assert "token_replaced" in (data / "up.log").read_text(), "nothing is said of it"


def test_a_folder_too_deep_for_a_socket_leaves_the_token(world):
    deep = world.fresh_folder() / ("d" * 100)
    deep.mkdir(mode=0o700)
    with Server(world.build, world.python, deep) as server:
        for headers, wanted in (({"Authorization": ""}, 401), ({}, 200)):
            status, answer = server.request("GET", server.jobs_path(), headers=headers)
            assert status == wanted, f"{headers}: {status} {answer}"


def test_a_server_that_asks_for_no_token_says_so(world):
    with world.own_server("--no-auth") as server:
        nobody = {"Authorization": ""}
        assert server.request("GET", server.jobs_path(), headers=nobody)[0] == 200, "it asks for a token"
        assert "runs commands as you" in (server.data / "up.log").read_text(), "it gives no warning"
        stranger = {**nobody, "Origin": "http://evil.example"}
        assert server.request("GET", server.jobs_path(), headers=stranger)[0] == 403, "another page is answered"


def test_what_another_user_leaves_among_temporary_folders_is_not_opened(world):
    temporary = world.fresh_folder()
    left = temporary / "eidolon-run-theirs"
    left.mkdir()
    os.mkfifo(left / "owner")  # Whoever opens it waits for ever.
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    os.chown(left, 65534, 65534)
    done = world.command("run", "--", "true", env={**os.environ, "TMPDIR": str(temporary)})
    assert done.returncode == 1, f"a run of nothing: {done}"
    assert left.exists(), "another user's folder is gone"
