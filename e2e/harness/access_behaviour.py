"""Who gets at a running server and its files. Run by behaviour.py."""
import os
import pathlib
import stat
import subprocess

from trial import expect, expect_complete, test

SAYS_ITS_MASK = """
    import os, torch
    print("mask", oct(os.umask(0)), flush=True)
    for _ in range(8):
        torch.cuda.nvtx.range_push("step")
        torch.ones(64, 64, device="cuda").sum().item()
        torch.cuda.nvtx.range_pop()
"""


@test
def only_the_owner_uses_a_server_and_reads_its_files(world):
    server = world.server
    job = world.run(SAYS_ITS_MASK, boundary="{nvtx: step}", extra="env: [{name: SECRET, value: hidden}]")
    expect_complete(job)
    name = job["metadata"]["name"]
    mask = os.umask(0)
    os.umask(mask)
    expect(f"mask {oct(mask)}" in server.logs(name), f"a job has another umask than its user: {server.logs(name)}")
    for path in [server.data, *pathlib.Path(server.data).rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        # The harness opened its own log before the server was there.
        expect(mode & 0o077 == 0 or path.name == "up.log", f"{path.name} has mode {mode:o}")
    for headers in ({"Authorization": ""}, {"Authorization": "Bearer wrong"}):
        status, answer = server.request("GET", server.jobs_path(), headers=headers)
        expect(status == 401 and str(server.data) in answer["detail"], f"{headers}: {status} {answer}")
    eidolon = world.build / "bin" / "eidolon"
    for words in (["--data-dir", server.data], ["--server", server.address, "--token-file", server.data / "token"]):
        done = subprocess.run([eidolon, *words, "get", name], capture_output=True, text=True)
        expect(done.returncode == 0 and name in done.stdout, f"{words}: {done.stderr}")
    done = subprocess.run([eidolon, "--server", server.address, "get", name], capture_output=True, text=True)
    expect(done.returncode == 1 and "asks for its token" in done.stderr, f"without a token: {done}")
    if os.geteuid() == 0:
        nobody = subprocess.run(["curl", "-sS", "--unix-socket", server.data / "eidolon.sock", "http://localhost/livez"],
                                capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
        expect(nobody.returncode != 0, f"another user is let in: {nobody.stdout}")
