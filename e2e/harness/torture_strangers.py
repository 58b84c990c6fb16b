"""Holds connections as another user: e2e/torture starts it and tells it by one line of JSON what to connect to.

It answers with one line, and holds on until it is ended: what the server closes is opened again, not fast enough to
keep the machine busy.
"""

import json
import os
import random
import resource
import select
import socket
import sys
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
# HEADERS of stream 1 without their end, so that more is to come.
OPEN_HEADERS = b"\0\0\1\1\0\0\0\0\1\x82"
FIRST_WORDS = (
    b"",
    PREFACE[:9],
    PREFACE,
    PREFACE + SETTINGS,
    PREFACE + SETTINGS + OPEN_HEADERS,
    b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-Drip: a",
)
AGAIN_SECONDS, AGAIN = 1, 100


def become(user):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def begin(address):
    """A connection that has said its first words; None when it is refused at once."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
    one = socket.socket(family, socket.SOCK_STREAM)
    one.setblocking(False)
    try:
        one.connect(address)
    except BlockingIOError:
        if family == socket.AF_UNIX:  # Its queue is full: it could be reached.
            return one
    except OSError:
        one.close()
        return None
    return one


def speak(held, chance):
    """What can be written to is connected. Returns the addresses of these."""
    spoken = set()
    poller = select.poll()
    by_number = {one.fileno(): (one, address) for one, address in held}
    for number in by_number:
        poller.register(number, select.POLLOUT)
    for number, _ in poller.poll(500):
        one, address = by_number[number]
        try:
            one.send(chance.choice(FIRST_WORDS))
            spoken.add(address)
        except OSError:
            pass
    return spoken


def is_open(one):
    try:
        while one.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def main():
    wanted = json.loads(sys.stdin.readline())
    chance = random.Random(wanted["seed"])
    become(wanted["user"])
    addresses = [("127.0.0.1", port) for port in wanted["ports"]]
    paths = ["\0" + path[1:] if path.startswith("@") else path for path in wanted["paths"]]
    held = []
    for address in [*paths, *addresses]:
        if one := begin(address):
            held.append((one, address))
    answered = speak(held, chance)
    reached = [path.replace("\0", "@") for path in paths if path in answered]
    held = [(one, address) for one, address in held if is_open(one)]
    print(json.dumps({"held": len(held), "reached": reached}), flush=True)
    while True:
        time.sleep(AGAIN_SECONDS)
        closed = [entry for entry in held if not is_open(entry[0])]
        held = [entry for entry in held if entry not in closed]
        again = []
        for one, address in closed[:AGAIN]:
            one.close()
            if other := begin(address):
                again.append((other, address))
        speak(again, chance)
        held += again


if __name__ == "__main__":
    main()
