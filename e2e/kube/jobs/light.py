"""Two ranks a server without a framework: copies and all-reduces by the vendor's own calls, at work in a moment.

For steps that ask what happens to jobs and not what frameworks do: any image with a Python runs it.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time

BYTES = 64 << 20
DEVICE_TO_DEVICE, FLOAT, SUM = 3, 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def good(status, what):
    if status != 0:
        sys.exit(f"{what}: status {status}")


class Rank:
    """One rank: a stream, two buffers of so many bytes, a communicator of the whole job."""

    def __init__(self, size):
        self.rank, self.world, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), size
        self.runtime, self.nccl = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libnccl.so.2")
        good(self.runtime.cudaSetDevice(int(os.environ["LOCAL_RANK"])), "cudaSetDevice")
        self.stream, self.communicator = ctypes.c_void_p(), ctypes.c_void_p()
        self.source, self.target = ctypes.c_void_p(), ctypes.c_void_p()
        good(self.runtime.cudaStreamCreate(ctypes.byref(self.stream)), "cudaStreamCreate")
        for pointer in (self.source, self.target):
            good(self.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)), "cudaMalloc")
        identity = UniqueId()
        if self.rank == 0:
            good(self.nccl.ncclGetUniqueId(ctypes.byref(identity)), "ncclGetUniqueId")
        identity = self.share(identity)
        self.nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
        good(
            self.nccl.ncclCommInitRank(ctypes.byref(self.communicator), self.world, identity, self.rank),
            "ncclCommInitRank",
        )

    def share(self, identity):
        """Rank 0's identity, everywhere."""
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        if self.rank == 0:
            with socket.create_server(("", address[1]), reuse_port=True) as server:
                for _ in range(self.world - 1):
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(bytes(identity))
            return identity
        while True:
            try:
                with socket.create_connection(address) as connection:
                    return UniqueId.from_buffer_copy(connection.recv(128, socket.MSG_WAITALL))
            except (ConnectionRefusedError, ConnectionResetError):
                time.sleep(0.01)

    def step(self, spin):
        """A copy and an all-reduce, and `spin` turns of a loop before: work of the host in real time, which the fixed
        host model does not see."""
        for _ in range(spin):
            pass
        size, count = ctypes.c_size_t(self.size), ctypes.c_size_t(self.size // 4)
        good(
            self.runtime.cudaMemcpyAsync(self.target, self.source, size, DEVICE_TO_DEVICE, self.stream),
            "cudaMemcpyAsync",
        )
        good(
            self.nccl.ncclAllReduce(self.target, self.source, count, FLOAT, SUM, self.communicator, self.stream),
            "ncclAllReduce",
        )
        good(self.runtime.cudaStreamSynchronize(self.stream), "cudaStreamSynchronize")


def train():
    rank = Rank(BYTES)
    for step in range(int(os.environ.get("STEPS", "1000"))):
        rank.step(int(os.environ.get("SPIN", "0")))
        if rank.rank == 0 and step % 100 == 0:
            print(f"step {step}", flush=True)


def launch():
    """Starts this server's ranks; the first that fails ends the others."""
    ranks = int(os.environ["NPROC_PER_NODE"])
    first, world = int(os.environ["NODE_RANK"]) * ranks, int(os.environ["NNODES"]) * ranks
    started = {}
    for local in range(ranks):
        place = {"RANK": str(first + local), "LOCAL_RANK": str(local), "WORLD_SIZE": str(world)}
        child = subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, **place})
        started[child.pid] = place["RANK"], child
    while started:
        number, status = os.wait()
        rank, _ = started.pop(number, (None, None))
        if rank is None or status == 0:
            continue
        for _, child in started.values():
            child.send_signal(signal.SIGTERM)
        sys.exit(f"rank {rank} ended with status {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    if "RANK" in os.environ:
        train()
    else:
        launch()
