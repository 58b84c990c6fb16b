// The small records that a session keeps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/iteration/detector.h"
#include "services/agent/session/communicators.h"
#include "services/agent/session/memory_book.h"
#include "services/base/sim_time.h"
#include "services/ring/record.h"
#include "services/ring/unknown_source.h"

namespace eidolon::agent::session {

// How iterations are found.
struct IterationRule {
  std::string nvtx;  // Name of a range; empty: not by range.
  bool by_log = false;
  std::uint32_t wanted = 0;  // Iterations, warm-up included; 0: as many as there are.
};

// Host reads of unknown bytes of one origin.
struct UnknownReads {
  ::eidolon::ring::UnknownSource source;
  std::uint32_t declaration = 0;  // Of the job, that gave the value; 0: none.
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
};

// What a process has used, as far as its records were applied.
struct SessionUsage {
  MemoryBook memory;
  std::map<std::string, std::uint64_t> refused_calls;
  std::uint64_t unknown_reads = 0;
  std::map<std::uint64_t, UnknownReads> unknown_sources;  // By the process's numbers.
};

// Who a session is.
struct SessionOptions {
  std::uint32_t number = 0;  // Of the process, unique in the server.
  std::int32_t pid = 0;
  bool is_primary = true;  // A rank by its environment: the launcher promised it.
  std::uint32_t server = 0;
  std::vector<device::Traits> devices;
  IterationRule rule;
  std::string event_log;  // Path; empty: none.
};
// A thread that waits for the engine or the network.
struct OpenWait {
  ::eidolon::ring::WaitRecord record{};
  std::uint64_t ticket = 0;
};

// The network's answer to a collective. `member`: -1 for every rank of the communicator.
struct Commitment {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::int32_t member = -1;
  base::SimTime start;
  base::SimTime finish;
  std::uint32_t basis = 0;
};

// A thread of a process that drives nothing sleeps for real.
struct Sleeper {
  std::uint32_t slot = 0;
  base::SimTime moment;
  std::int64_t until_ns = 0;
};

// A collective in the engine.
struct OpenCall {
  std::uint32_t communicator = 0;
  CallName name;
  std::uint32_t name_number = 0;
};

// A thread that waits for its communicator.
struct OpenJoin {
  std::uint32_t slot = 0;
  std::uint32_t communicator = 0;
  bool is_split = false;
};

// A captured call.
struct CommunicationTemplate {
  std::uint32_t communicator = 0;
  std::vector<::eidolon::ring::CommunicationOp> ops;
};
// What the detector sees of a graph, and the collectives it issues.
struct GraphShape {
  struct Node {
    std::uint32_t identity = 0;
    iteration::Update update = iteration::Update::kNo;
  };
  std::vector<Node> nodes;  // Those that become operations.
  std::vector<std::uint32_t> templates;
};

}  // namespace eidolon::agent::session
