"""Processes as /proc shows them. Those that have ended meanwhile are passed over."""

import contextlib
import os
import pathlib
import re


def content_of(pid, name):
    """A file of a process; empty once the process has ended."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
    return b""


def name_of(pid):
    return content_of(pid, "comm").decode(errors="replace").strip()


def state_of(pid):
    """Returns the state as ps shows it; that of a zombie also when nothing is left of the process."""
    fields = content_of(pid, "stat").rpartition(b")")[2].split()
    return fields[0].decode() if fields else "Z"


def has_ended(pid):
    return state_of(pid) in "ZX"


def parent_of(pid):
    return int(content_of(pid, "stat").rpartition(b")")[2].split()[1])


def everybody():
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]


def descendants(pid):
    """Processes below `pid`."""
    with contextlib.suppress(OSError):
        for task in list(pathlib.Path(f"/proc/{pid}/task").iterdir()):
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield int(child)
                    yield from descendants(int(child))


def below(pid, name):
    """Those of the descendants that have this name."""
    return [child for child in descendants(pid) if name_of(child) == name]


def links_of(pid, folder):
    """Returns what the links of a folder of a process, as /proc/PID/fd, lead to: {link: target}."""
    found = {}
    with contextlib.suppress(OSError):
        for link in pathlib.Path(f"/proc/{pid}/{folder}").iterdir():
            with contextlib.suppress(OSError):
                found[link] = os.readlink(link)
    return found


def sockets_of(pid):
    """Inodes of the sockets that a process has open, as texts."""
    return {found[1] for target in links_of(pid, "fd").values() if (found := re.match(r"socket:\[(\d+)\]", target))}


def listening_ports(pid):
    """The TCP ports at which a process listens, in order."""
    inodes, ports = sockets_of(pid), set()
    for table in ("tcp", "tcp6"):
        for line in content_of(pid, f"net/{table}").decode().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports)
