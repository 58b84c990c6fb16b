// Receives the effects of a job.
#pragma once

#include <cstdint>

#include "services/network/collective/kind.h"
#include "services/network/communicator/notice.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::communicator {

// Interface that receives a job's effects.
class Audience {
 public:
  virtual ~Audience() = default;
  virtual void Tell(std::uint64_t job, std::uint32_t server, Notice notice) = 0;
  // Requires later: the job's Finished.
  virtual void Start(flow::Transfer transfer) = 0;
  // A collective or a group of transfers ended.
  virtual void Ended(collective::Algorithm algorithm, collective::Protocol protocol) = 0;
  // A collective ended at another time than was told before: a mistake of Eidolon.
  virtual void MissedForeseenEnd() = 0;
  // The communicator's transfers will not be finished.
  virtual void Cancel(std::uint64_t job, std::uint64_t communicator) = 0;
};

}  // namespace eidolon::network::communicator
