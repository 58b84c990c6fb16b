// Notices for a job's sessions. The service turns these into messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/folding/fold.h"
#include "services/network/collective/kind.h"
#include "services/network/communicator/gathering.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::communicator {

struct JoinedNotice {
  std::uint64_t request = 0;
  std::uint64_t communicator = 0;  // 0: a split with a negative colour.
  std::int32_t rank = 0;
  std::int32_t size = 0;
  base::SimTime finish;
  std::vector<std::int32_t> parent_ranks;  // Split only.
  std::uint32_t channels = 0;
  std::uint64_t buffer_bytes = 0;
  // Folded jobs: what a split with a negative colour takes; else 0.
  base::Duration split;
};

struct CommittedNotice {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t rank = -1;  // Point to point; else -1.
  base::SimTime start;
  base::SimTime finish;
  collective::Algorithm algorithm = collective::Algorithm::kRing;
  collective::Protocol protocol = collective::Protocol::kSimple;
  std::uint32_t channels = 0;
  float relative_error = 0;
  bool is_assumed = false;  // No measurement supports its duration.
  // Time spent on the collective from start to finish; for a group, on the transfer that ended
  // last. Of several notices one.
  std::shared_ptr<const flow::Spent> spent;
  bool foreseen = false;  // Other servers are not there yet.
};

// A rank's group of sends and receives ends at `end` or later.
struct NotBeforeNotice {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t rank = 0;
  base::SimTime end;
};

struct ValuesNotice {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t rank = 0;
  bool point_to_point = false;
  bool known = false;
  std::string payload;
  // Folded jobs: mirrored ranks whose part was taken from a live member although nothing says that
  // it is the same, or is not known. Told to one live member only.
  std::uint32_t guessed = 0;
  std::string site;  // Where the program calls it, when something was guessed.
};

// Folded jobs: live ranks of one class have launched other work before the same call.
struct WorkDiffersNotice {
  std::uint32_t rank = 0;  // Of the job, who is told: the lowest live one of the class.
  std::string where;
};

struct SafeThroughNotice {
  base::SimTime time;
  bool released = false;
};

struct DeadlockNotice {
  std::string report;
};

struct FailedNotice {
  std::uint64_t communicator = 0;
  std::uint64_t request = 0;
  std::string reason;
  bool server_gone = false;  // A server of the job had gone before.
  // Members wait for one that has left, and may still end by themselves: nothing has failed yet.
  bool job_goes_on = false;
  // Of a folded job: ranks of one class are not alike, but differ by their positions in these.
  std::vector<folding::Dimension> ranks_differ_by;
};

using Notice = std::variant<JoinedNotice, CommittedNotice, ValuesNotice, SafeThroughNotice,
                            DeadlockNotice, FailedNotice, WorkDiffersNotice, NotBeforeNotice>;

}  // namespace eidolon::network::communicator
