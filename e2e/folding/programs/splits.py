"""Makes N groups of 8 and of 64 ranks, each by a split of the job's communicator, as Megatron-core does for every row of
its mesh, and prints what that took this rank's processor.

    splits.py N
"""

import os
import sys

import torch
import torch.distributed as dist


def main():
    count, device = int(sys.argv[1]), torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    # With a device, every rank splits the communicator of the job for each group, member or not.
    dist.init_process_group("nccl", device_id=device)
    before, made = os.times(), 0
    while made < count:
        size = 8 if made < count // 2 else 64
        for first in range(0, dist.get_world_size(), size):
            dist.new_group(list(range(first, first + size)))
            made += 1
            if made >= count:
                break
    after = os.times()
    print(f"rank {dist.get_rank()}: {made} groups, {after.user - before.user + after.system - before.system:.2f} s")
    numbers = torch.zeros(1024, device=device)
    for _ in range(12):
        dist.all_reduce(numbers)
        torch.cuda.synchronize()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
