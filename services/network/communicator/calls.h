// Reports of a rank about one call: that it has made the call, and that its stream has reached it.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/network/communicator/collective_table.h"
#include "services/network/communicator/operation.h"
#include "services/network/communicator/payload.h"
#include "services/network/communicator/work_table.h"

namespace eidolon::network::communicator {

struct IssueCall {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t rank = 0;
  Operation operation;
  Payload payload;
  CallGroup group;
  LaunchedWork work;  // Since the rank's call before.
};

struct PostCall {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t rank = 0;
  bool point_to_point = false;
  base::SimTime ready;
};

}  // namespace eidolon::network::communicator
