"""Reads a trace with Perfetto's own published messages and asks SQL of it.

    trace_tables.py TRACE [SQL]     the answer of SQL, or the number of rows of each table, as JSON

The tables are those of Perfetto's trace processor, as far as a timeline fills them: process, track, slice, flow, args,
counter. Its program is not on PyPI (the package `perfetto` fetches it from elsewhere), so this module builds the tables
itself, strictly: a slice that ends before it begins, an end without a beginning, a track that nobody described or a name
that was not interned is an error. Where EIDOLON_TRACE_PROCESSOR names a trace_processor_shell, that one is asked instead.
"""

import fcntl
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

VERSION = "0.59.1"
ZSTANDARD = "0.25.0"
TABLES = """
    CREATE TABLE process(upid INTEGER PRIMARY KEY, pid INTEGER, name TEXT);
    CREATE TABLE track(id INTEGER PRIMARY KEY, parent_id INTEGER, name TEXT);
    CREATE TABLE slice(id INTEGER PRIMARY KEY, track_id INTEGER, ts INTEGER, dur INTEGER, depth INTEGER, name TEXT,
                       category TEXT, arg_set_id INTEGER);
    CREATE TABLE args(arg_set_id INTEGER, key TEXT, int_value INTEGER, string_value TEXT, real_value REAL);
    CREATE TABLE flow(id INTEGER, slice_out INTEGER, slice_in INTEGER);
    CREATE TABLE counter(track_id INTEGER, ts INTEGER, value INTEGER);
"""


def python():
    """A Python with Perfetto's messages, made once, outside the tree, by whoever of several comes first."""
    cache = os.environ.get("XDG_CACHE_HOME", str(pathlib.Path.home() / ".cache"))
    name = f"perfetto-{VERSION}-{ZSTANDARD}"
    folder = pathlib.Path(os.environ.get("EIDOLON_CACHE_DIR", f"{cache}/eidolon")) / name
    if (folder / "complete").exists():
        return folder / "bin/python"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            install = [folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*install, f"perfetto=={VERSION}", f"zstandard=={ZSTANDARD}"], check=True)
            (folder / "complete").touch()
    return folder / "bin/python"


def ask(trace, sql):
    """The rows that SQL finds in a trace, as dictionaries."""
    command = [python(), "-B", __file__, trace, sql]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{trace} is not a sound trace: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def fetch(world, job):
    """The trace, as the command fetches it."""
    name = job["metadata"]["name"]
    trace = world.folder / f"{name}.pftrace"
    return world.eidolon("timeline", name, "-o", trace), trace


def packets(data):
    """Those of a file of Zstandard frames."""
    import zstandard
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    yield from perfetto.Trace.FromString(reader.read()).packet


class Reader:
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
        self.base.executescript(TABLES)
        self.interned = {}  # By sequence, kind and number.
        self.open = {}  # Slices that have not ended, by track.
        self.latest = {}  # By track.
        self.arrows = []  # Where they touch slices: time, order, number of the arrow, whether it ends, slice.
        self.clocks = {}  # By sequence and number: whether it counts from packet to packet, and its time.
        self.defaults = {}  # By sequence.
        self.next_slice = 1

    def insert(self, table, *values):
        self.base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)

    def add(self, packet):
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1:
            self.interned = {key: name for key, name in self.interned.items() if key[0] != sequence}
        for kind, field in (
            ("name", packet.interned_data.event_names),
            ("category", packet.interned_data.event_categories),
            ("argument", packet.interned_data.debug_annotation_names),
        ):
            for entry in field:
                self.interned[sequence, kind, entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_string_values:
            self.interned[sequence, "text", entry.iid] = entry.str.decode()
        if packet.HasField("track_descriptor"):
            self.add_track(packet.track_descriptor)
        for clock in packet.clock_snapshot.clocks:
            assert clock.HasField("timestamp"), f"a clock without a time: {clock}"
            self.clocks[sequence, clock.clock_id] = (clock.is_incremental, clock.timestamp)
        if packet.HasField("trace_packet_defaults"):
            self.defaults[sequence] = packet.trace_packet_defaults
        if packet.HasField("track_event"):
            self.add_event(sequence, self.time_of(sequence, packet), packet.track_event)

    def time_of(self, sequence, packet):
        """Returns the time on the clock that the packet or its defaults name, as clocks start together at 0."""
        assert packet.HasField("timestamp"), "an event without a time"
        number = packet.timestamp_clock_id or self.defaults[sequence].timestamp_clock_id
        counts, before = self.clocks[sequence, number]
        if not counts:
            return packet.timestamp
        at = (before + packet.timestamp) % (1 << 64)
        self.clocks[sequence, number] = (counts, at)
        return at

    def add_track(self, track):
        if track.HasField("process"):
            self.insert("process", track.uuid, track.process.pid, track.process.process_name)
        parent = track.parent_uuid or None
        assert parent is None or parent in self.latest, f"track {track.name} comes before its parent {parent}"
        self.insert("track", track.uuid, parent, track.name or track.process.process_name)
        self.latest[track.uuid] = 0

    def add_event(self, sequence, at, event):
        track = event.track_uuid or self.defaults[sequence].track_event_defaults.track_uuid
        assert track in self.latest, f"track {track} was not described"
        assert at >= self.latest[track], f"track {track} goes back from {self.latest[track]} to {at}"
        self.latest[track] = at
        if event.type == event.TYPE_COUNTER:
            self.insert("counter", track, at, event.counter_value)
            return
        stack = self.open.setdefault(track, [])
        if event.type == event.TYPE_SLICE_END:
            assert stack, f"track {track}: an end without a beginning at {at}"
            number, begin = stack.pop()
            self.base.execute("UPDATE slice SET dur = ? WHERE id = ?", (at - begin, number))
            return
        assert event.type == event.TYPE_SLICE_BEGIN, f"an event of type {event.type}"
        number, self.next_slice = self.next_slice, self.next_slice + 1
        name = self.interned[sequence, "name", event.name_iid]
        category = self.interned[sequence, "category", event.category_iids[0]]
        self.insert("slice", number, track, at, None, len(stack), name, category, number)
        stack.append((number, at))
        for flows, ends in ((event.flow_ids, False), (event.terminating_flow_ids, True)):
            for flow in flows:
                self.arrows.append((at, len(self.arrows), flow, ends, number))
        for argument in event.debug_annotations:
            key = f"debug.{self.interned[sequence, 'argument', argument.name_iid]}"
            text = self.interned[sequence, "text", argument.string_value_iid] if argument.string_value_iid else None
            kind = argument.WhichOneof("value")
            whole = argument.int_value if kind == "int_value" else None
            real = argument.double_value if kind == "double_value" else None
            self.insert("args", number, key, whole, text, real)

    def finish(self):
        for track, stack in self.open.items():
            assert not stack, f"track {track}: {len(stack)} slices do not end"
        touched = {}  # By number of an arrow: the slice that it touched last.
        for at, _, flow, ends, number in sorted(self.arrows):
            assert flow in touched or not ends, f"arrow {flow} ends at {at} and has not begun"
            if flow in touched:
                self.insert("flow", flow if flow < 1 << 63 else flow - (1 << 64), touched[flow], number)
            touched[flow] = number
            if ends:
                del touched[flow]
        self.base.row_factory = sqlite3.Row
        return self.base


def ask_trace_processor(program, trace, sql):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    with TraceProcessor(trace=trace, config=TraceProcessorConfig(bin_path=program)) as processor:
        return [dict(vars(row)) for row in processor.query(sql)]


def main():
    trace = sys.argv[1]
    program = os.environ.get("EIDOLON_TRACE_PROCESSOR")
    if len(sys.argv) > 2 and program:
        print(json.dumps(ask_trace_processor(program, trace, sys.argv[2])))
        return
    reader = Reader()
    for packet in packets(pathlib.Path(trace).read_bytes()):
        reader.add(packet)
    base = reader.finish()
    if len(sys.argv) > 2:
        print(json.dumps([dict(row) for row in base.execute(sys.argv[2])]))
        return
    tables = [row["name"] for row in base.execute("SELECT name FROM sqlite_master")]
    print(json.dumps({name: base.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables}))


if __name__ == "__main__":
    main()
