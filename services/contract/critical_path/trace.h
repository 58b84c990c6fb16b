// Keeps what is needed of an iteration to find its critical path: of each rank the operations of
// its GPUs, with what each of them waited for, and the calls and waits of its host.
//
// Operations are in program order. An operation is released by another one of its rank, or by the
// host's call alone; a collective, or a group of sends and receives, also by its partners in other
// ranks, which are found by the names of calls: (communicator, call), or (communicator, sender,
// receiver, sequence).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/critical_path/links.h"

namespace eidolon::critical_path {

enum class OperationKind : std::uint8_t { kKernel, kCopy, kCommunication, kHostFunction };
constexpr std::uint8_t kOperationKinds = 4;

// Operation::released_by where it does not lead to a place in the trace.
constexpr std::uint32_t kHostCall = 0;
// An operation before the iteration, which ended before it.
constexpr std::uint32_t kEarlier = std::numeric_limits<std::uint32_t>::max();
// One that is not in the trace.
constexpr std::uint32_t kLeftOut = kEarlier - 1;

struct Operation {
  base::SimTime ready;  // Of communication: when this rank could start. Else the start.
  base::SimTime start;
  base::SimTime finish;
  std::uint32_t name = 0;                 // In RankTrace::names.
  std::uint32_t released_by = kHostCall;  // Place + 1 of an operation before it.
  std::uint32_t call = 0;                 // Place + 1 of the host's call; 0: not known.
  std::uint16_t device = 0;
  OperationKind kind = OperationKind::kKernel;
  std::uint8_t reserved = 0;
};

enum class HostEventKind : std::uint32_t { kCall, kWait, kSleep };
constexpr std::uint32_t kHostEventKinds = 3;

// A call: the host worked from `begin` until it made it at `end`. Otherwise it waited.
struct HostEvent {
  base::SimTime begin;
  base::SimTime end;
  std::uint32_t name = 0;
  HostEventKind kind = HostEventKind::kCall;
};

// Role of an operation of the kind kCommunication for its partners.
struct Communication {
  std::uint64_t communicator = 0;
  std::uint64_t call = 0;       // Of a collective: its number in the communicator.
  std::uint32_t operation = 0;  // Its place.
  std::int32_t member = 0;      // This rank's number in the communicator.
  std::uint32_t first_transfer = 0;
  std::uint32_t transfers = 0;  // 0: a collective.
  // Parts of its time; of a group the transfer that ended last.
  std::uint32_t first_link = 0;
  std::uint32_t links = 0;
};

struct Transfer {
  std::uint64_t sequence = 0;  // Of the pair and direction.
  std::int32_t peer = 0;       // In the communicator.
  std::uint32_t is_send = 0;
};

struct RankTrace {
  std::int32_t rank = 0;
  std::optional<std::uint32_t> iteration;  // From 0; none: the whole program.
  base::SimTime start;
  base::SimTime finish;
  std::uint64_t left_out = 0;                // Operations that were not kept.
  std::vector<base::Duration> launch_gaps;   // By device: from a dependency's end to a start.
  std::vector<Operation> operations;         // In program order.
  std::vector<HostEvent> host_events;        // In program order.
  std::vector<Communication> communication;  // In the order of their operations.
  std::vector<Transfer> transfers;
  std::vector<LinkTime> links;
  std::vector<std::string> names;
};

}  // namespace eidolon::critical_path
