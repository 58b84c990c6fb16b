"""The faults of e2e/torture that clients are: hostile, broken, many, or of another user."""

import concurrent.futures
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time

from processes import listening_ports, sockets_of
from torture_registry import fault, needing

STRANGERS = pathlib.Path(__file__).with_name("torture_strangers.py")
STRANGER = 65534
CONNECTIONS = 1200


def connect(world):
    host, port = world.server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5)


@fault
def open_half_of_many_connections(world):
    """The head of a request that never ends, hundreds of times; others are served meanwhile."""
    held = []
    try:
        for number in range(300):
            with contextlib.suppress(OSError):
                held.append(connect(world))
                held[-1].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Drip: " + b"a" * (number % 50))
        started = time.monotonic()
        world.expect_alive("while half of 300 requests were sent")
        for one in held[:50]:
            with contextlib.suppress(OSError):
                one.sendall(b"b")
        return f"alive within {time.monotonic() - started:.1f} s"
    finally:
        for one in held:
            one.close()


GARBAGE = (
    b"\0" * 4096,
    b"GET / HTTP/9.9\r\n\r\n",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    b"Content-Length: 50\r\n\r\nhello",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999"
    b"\r\n\r\n",
    b"POST /api/v1/namespaces/default/simulationjobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"fffffffffffffffff\r\n",
    b"GET /api/v1/namespaces/%2e%2e/simulationjobs/%00 HTTP/1.1\r\nHost: 127.evil.example\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10_000 + b"\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 400,
)


@fault
def send_garbage(world):
    for _ in range(8):
        with contextlib.suppress(OSError):
            with connect(world) as connection:
                connection.settimeout(0.5)
                connection.sendall(world.chance.choice(GARBAGE))
                connection.recv(4096)
    world.expect_alive("after garbage")
    return "eight times"


@fault
def send_hostile_documents(world):
    flat = "a: [" + "x, " * 200_000 + "x]"
    deep = "a: " + "[" * 50_000
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join(['*a' + str(n - 1)] * 9)}]\n" for n in range(1, 9)
    )
    text = world.chance.choice((flat, deep, laughs))
    statuses = []

    def send(_):
        with contextlib.suppress(OSError):
            statuses.append(world.server.request("POST", world.server.jobs_path(), text)[0])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))
    if any(status < 400 for status in statuses):
        world.find("accepted", f"a hostile document was answered {statuses}")
    world.expect_alive("after hostile documents")
    return f"answered {sorted(set(statuses))}"


@fault
def ask_for_impossible_names(world):
    for name in ("..", "%2e%2e", "a%0ab", "a%00b", "x" * 300, "%ff"):
        with contextlib.suppress(OSError):
            status, _ = world.server.request(
                "POST",
                f"/api/v1/namespaces/{name}/simulationjobs",
                json.dumps(world.document("never", "honest")),
                kind="application/json",
            )
            if status < 400:
                world.find("accepted", f"a job in namespace {name} was answered {status}")
    return "as namespaces"


@fault
def come_without_the_token(world):
    for headers in (
        {"Authorization": ""},
        {"Authorization": "Bearer wrong"},
        {"Origin": "http://evil.example"},
        {"Host": "127.evil.example"},
    ):
        with contextlib.suppress(OSError):
            status, _ = world.server.request("GET", world.server.jobs_path(), headers=headers)
            if status < 400:
                world.find("accepted", f"a request with {headers} was answered {status}")
    return "four times"


def listening_paths(world):
    """Lists Unix sockets of the server and its agents, those without a file with @ in front."""
    inodes = set().union(*(sockets_of(pid) for pid in [world.server.process.pid, *world.agents()]))
    paths = set()
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and int(fields[3], 16) & 0x10000 and fields[6] in inodes:
            paths.add(fields[7])
    return sorted(paths)


@fault
def talk_nonsense_to_every_port(world):
    """gRPC and whatever else the server and agents listen on receives bytes that do not follow any protocol. An agent
    refuses them."""
    ports, paths = listening_ports(world.server.process.pid), listening_paths(world)
    addresses = [("127.0.0.1", port) for port in ports]
    for address in [*addresses, *("\0" + path[1:] if path.startswith("@") else path for path in paths)]:
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        with contextlib.suppress(OSError), socket.socket(family) as connection:
            connection.settimeout(2)
            connection.connect(address)
            connection.sendall(
                world.chance.choice((b"\xff" * 3000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x01" * 900, b"\0" * 9))
            )
    world.expect_alive("after nonsense on every port")
    return f"{len(ports)} ports and {len(paths)} sockets"


# In which a store takes jobs again after a fault of the disk: it tries at least every 2 s.
STORE_SECONDS = 10


def expect_service(world, when):
    """The owner is served: health, list and submission, each well within its time."""
    world.expect_alive(when)
    started = time.monotonic()
    if not world.look():
        world.find("kept out", f"the list of jobs was not answered {when}")
    job = world.submit("honest")
    while job.status in (503, 507) and time.monotonic() - world.disk.healed < STORE_SECONDS:
        time.sleep(0.5)
        started = time.monotonic()
        world.submit_again(job)
    if not job.accepted:
        world.find("kept out", f"{job.name} was answered {job.status} {when}")
    if (seconds := time.monotonic() - started) > 10:
        world.find("kept out", f"a list and a submission took {seconds:.1f} s {when}")


@needing("root")
def hold_connections_of_another_user(world):
    """Idle and half-handshaken ones, to every port of the server and every socket that another user reaches, until the
    round is over."""
    ports, paths = listening_ports(world.server.process.pid), listening_paths(world)
    if world.held:
        return "another user holds some already"
    process = subprocess.Popen(
        [sys.executable, "-B", STRANGERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    # REST limits what a client holds; a share of the connections meets that, the others what has no such limit.
    rest = int(world.server.address.rpartition(":")[2])
    others = [port for port in ports if port != rest] or [rest]
    wanted = {
        "user": STRANGER,
        "ports": [rest] * (CONNECTIONS // 6) + (others * CONNECTIONS)[: CONNECTIONS - CONNECTIONS // 6],
        "paths": paths,
        "seed": world.chance.random(),
    }
    process.stdin.write(json.dumps(wanted) + "\n")
    process.stdin.flush()
    said = json.loads(process.stdout.readline() or "{}")

    def let_go():
        expect_service(world, "at the end of a round of held connections")
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    world.held.append(let_go)
    for path in said.get("reached", ()):
        world.find("open", f"another user can connect to {path}")
    expect_service(world, f"while another user holds {said.get('held')} connections to {len(ports)} ports")
    return f"{said}"


@fault
def never_read_what_was_asked_for(world):
    """Streams and lists that are asked for again and again on connections from which nothing is read."""
    held = []
    path = world.server.jobs_path()
    asked = (path, path.replace("/namespaces", "/watch/namespaces"), "/metrics", "/openapi.json")
    try:
        for _ in range(60):
            with contextlib.suppress(OSError):
                one = connect(world)
                held.append(one)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.settimeout(0.2)
                head = f" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {world.server.token()}\r\n\r\n"
                one.sendall((f"GET {world.chance.choice(asked)}" + head).encode() * 20)
        world.expect_alive("while 60 clients read nothing")
        return f"{len(held)} of them"
    finally:
        for one in held:
            one.close()
