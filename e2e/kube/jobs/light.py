"""Two ranks a server without a framework: copies and all-reduces by the vendor's own calls, at work in a moment.

For steps that ask what happens to jobs and not what frameworks do: any image with a Python runs it.
"""
import ctypes
import os
import signal
import socket
import subprocess
import sys

BYTES = 64 << 20
DEVICE_TO_DEVICE, FLOAT, SUM = 3, 7, 0


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


def good(status, what):
    if status != 0:
        sys.exit(f"{what}: status {status}")


def share(identity, rank, world):
    """Rank 0's identity, everywhere."""
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        with socket.create_server(("", address[1]), reuse_port=True) as server:
            for _ in range(world - 1):
                connection, _ = server.accept()
                with connection:
                    connection.sendall(bytes(identity))
        return identity
    while True:
        try:
            with socket.create_connection(address) as connection:
                data = connection.recv(128, socket.MSG_WAITALL)
                return UniqueId.from_buffer_copy(data)
        except ConnectionRefusedError:
            continue


def train(rank, local, world):
    runtime, nccl = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libnccl.so.2")
    good(runtime.cudaSetDevice(local), "cudaSetDevice")
    stream, communicator = ctypes.c_void_p(), ctypes.c_void_p()
    source, target = ctypes.c_void_p(), ctypes.c_void_p()
    good(runtime.cudaStreamCreate(ctypes.byref(stream)), "cudaStreamCreate")
    for pointer in (source, target):
        good(runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(BYTES)), "cudaMalloc")
    identity = UniqueId()
    if rank == 0:
        good(nccl.ncclGetUniqueId(ctypes.byref(identity)), "ncclGetUniqueId")
    identity = share(identity, rank, world)
    nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    good(nccl.ncclCommInitRank(ctypes.byref(communicator), world, identity, rank), "ncclCommInitRank")
    size, count = ctypes.c_size_t(BYTES), ctypes.c_size_t(BYTES // 4)
    # Turns of a loop: a step's work on the host in real time, which the fixed host model does not see.
    spin = int(os.environ.get("SPIN", "0"))
    for step in range(int(os.environ.get("STEPS", "1000"))):
        for _ in range(spin):
            pass
        good(runtime.cudaMemcpyAsync(target, source, size, DEVICE_TO_DEVICE, stream), "cudaMemcpyAsync")
        good(nccl.ncclAllReduce(target, source, count, FLOAT, SUM, communicator, stream), "ncclAllReduce")
        good(runtime.cudaStreamSynchronize(stream), "cudaStreamSynchronize")
        if rank == 0 and step % 100 == 0:
            print(f"step {step}", flush=True)


def launch():
    """Starts this server's ranks; the first that fails ends the others."""
    ranks = int(os.environ["NPROC_PER_NODE"])
    first, world = int(os.environ["NODE_RANK"]) * ranks, int(os.environ["NNODES"]) * ranks
    started = {}
    for local in range(ranks):
        place = {"RANK": str(first + local), "LOCAL_RANK": str(local), "WORLD_SIZE": str(world)}
        child = subprocess.Popen([sys.executable, __file__], env={**os.environ, **place})
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
        train(int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        launch()
