// Published measurements of collectives, in the terms of the cost model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::validation {

enum class Role {
  kFit,    // Correction curves come from it.
  kTest,   // Held out.
  kOther,  // Held out and not counted: the source says that the log is not of a healthy system.
};

struct Point {
  std::uint64_t bytes = 0;
  double us = 0;
};

// The log of one collective on one system.
struct LogSet {
  std::string name;
  std::string site;
  std::string transport;  // "infiniband", "roce", "slingshot", "nvlink", "pcie".
  std::string gpu;
  collective::Kind kind = collective::Kind::kAllReduce;
  std::uint32_t nodes = 1;
  std::uint32_t members = 8;  // Per server: its first GPUs.
  std::uint32_t nics = 0;
  double nic_gigabits_per_second = 0;
  Role role = Role::kTest;
  std::string source;
  std::vector<Point> points;
};

// The text of nccl_logs.csv; its head documents the format.
std::string PublishedLogs();

// Fails with a sentence that names the line.
base::Result<std::vector<LogSet>> ParseLogSets(std::string_view text);

// The communicator of a log: the members of all its servers.
collective::Shape ShapeOf(const LogSet& set);

// The cost model's time of a call of the log, and that of NCCL's table before the correction. A
// send_recv log is a ring of transfers.
double ModelledUs(const LogSet& set, const collective::Shape& shape, std::uint64_t bytes);
double TabledUs(const LogSet& set, const collective::Shape& shape, std::uint64_t bytes);

// nccl-tests' bus bandwidth in GB/s.
double BusBandwidth(collective::Kind kind, std::uint32_t ranks, std::uint64_t bytes, double us);

std::string_view Name(Role role);

}  // namespace eidolon::network::validation
