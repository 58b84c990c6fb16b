// Identifies a session, and sets how the iterations of its program are found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/agent/device/operation.h"
#include "services/agent/timeline/recorder.h"
#include "services/contract/recording/entry_writer.h"

namespace eidolon::agent::session {

// Rule by which iterations are found.
struct IterationRule {
  std::string nvtx;  // Name of a range; empty: not by range.
  bool by_log = false;
  std::uint32_t wanted = 0;  // Iterations, warm-up included; 0: as many as there are.
};

struct SessionOptions {
  std::uint32_t number = 0;  // Of the process, unique in the server.
  std::int32_t pid = 0;
  bool is_primary = true;  // A rank by its environment: the launcher promised it.
  std::uint32_t server = 0;
  std::vector<device::Traits> devices;
  IterationRule rule;
  std::string event_log;                                  // Path; empty: none.
  std::optional<timeline::Rule> timeline = std::nullopt;  // None: nothing is shown.
  std::string recording = {};                             // Path of its part; empty: none is kept.
  std::uint64_t recording_bytes_max = ::eidolon::recording::EntryWriter::kBytesMax;
};

}  // namespace eidolon::agent::session
