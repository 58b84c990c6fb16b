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
  // A preset's name or a file; the other fields override it.
  std::string topology = "dgx-h100";
  std::uint32_t servers = 0;  // 0: as the topology says.
  std::uint32_t members = 0;  // 0: all GPUs.
  std::uint64_t bytes_min = 8;
  std::uint64_t bytes_max = std::uint64_t{8} << 30;
  std::uint64_t factor = 2;
  std::vector<std::string> environment;  // "NAME=VALUE".
};

// A preset, or a file's cluster; with `servers` of them when that is not 0.
base::Result<network::topology::Cluster> FindCluster(const std::string& topology,
                                                     std::uint32_t servers);

// Columns like those of nccl-tests: bytes, time, algorithm and bus bandwidth, then NCCL's choice.
base::Result<std::string> CollectiveTable(const CollectiveOptions& options);

}  // namespace eidolon::cli::net
