// `eidolon net collective`: the times of one collective by size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/network/topology/cluster.h"

namespace eidolon::cli::net {

struct CollectiveOptions {
  std::string kind = "all_reduce";
  network::topology::Cluster cluster{.name = "command line",
                                     .servers = 1,
                                     .gpus_per_server = 8,
                                     .gpu = "H100",
                                     .nvlink_generation = 4,
                                     .nvlink_switched = true,
                                     .nics = 8,
                                     .nic_gigabits_per_second = 400,
                                     .nic_latency_microseconds = 0,
                                     .fabric = "rail-optimised",
                                     .oversubscription = 1};
  std::uint32_t members = 0;  // 0: all GPUs.
  std::uint64_t bytes_min = 8;
  std::uint64_t bytes_max = std::uint64_t{8} << 30;
  std::uint64_t factor = 2;
  std::vector<std::string> environment;  // "NAME=VALUE".
};

// Columns like those of nccl-tests: bytes, time, algorithm and bus bandwidth, then NCCL's choice.
base::Result<std::string> CollectiveTable(const CollectiveOptions& options);

}  // namespace eidolon::cli::net
