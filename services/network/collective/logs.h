// Published nccl-tests logs beside the cost model: nccl_logs.csv, read for tests and for the error
// table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// One measured call.
struct LogRow {
  std::string gpu;
  Kind kind = Kind::kAllReduce;
  std::uint32_t nodes = 1;
  std::uint32_t members_per_node = 1;
  std::uint32_t nics = 0;
  double nic_gigabits_per_second = 0;
  std::uint64_t bytes = 0;
  double measured_us = 0;
};

base::Result<std::vector<LogRow>> ParseLogs(std::string_view text);
base::Result<std::vector<LogRow>> LoadLogs(const std::string& path);

// The communicator of a row: members are the first GPUs of each server.
Shape ShapeOf(const LogRow& row);

// The model's time of the row. A send_recv row is a ring of transfers.
double ModelledUs(const LogRow& row);

// NCCL's bus bandwidth in GB/s for a duration of the row's call.
double BusBandwidth(const LogRow& row, double us);

}  // namespace eidolon::network::collective
