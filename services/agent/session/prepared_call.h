// A record's operations sorted into calls of the network service: each collective is one, all sends
// and receives of a record together are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/session/session_host.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// One call of a communicator, to be issued once its estimate is known.
struct PreparedCall {
  network::v1::Operation operation;
  bool point_to_point = false;
  std::string payload;
  bool has_payload = true;
  // Index among the collectives of its record, which one group made.
  std::uint32_t group_index = 0;
  std::uint32_t group_size = 1;
  std::vector<::eidolon::ring::CommunicationOp> ops;
  SessionHost::CollectiveEstimate estimate;
  std::string site;  // Where the program calls it; empty: not known.
};

// Call with its communicator's number in the process.
struct OwnedCall {
  std::uint32_t communicator = 0;
  PreparedCall call;
};

// The group of sends and receives comes last. `payload`: the operations' values, behind each other.
std::vector<PreparedCall> CallsOf(std::span<const ::eidolon::ring::CommunicationOp> ops,
                                  std::span<const std::byte> payload);
// Returns how many they are.
std::size_t CountCalls(std::span<const ::eidolon::ring::CommunicationOp> ops);

}  // namespace eidolon::agent::session
