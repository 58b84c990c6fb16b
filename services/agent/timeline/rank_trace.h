// Converts a recorder's contents to the trace in which the critical path is searched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "services/agent/cost/cost_cache.h"
#include "services/agent/device/operation.h"
#include "services/agent/timeline/recorder.h"
#include "services/contract/critical_path/trace.h"

namespace eidolon::agent::timeline {

struct Traced {
  std::int32_t rank = 0;
  std::span<const device::Traits> devices;
  const cost::CostCache* costs = nullptr;
  // By the network service's number + 1; links without a name here have none in the trace.
  const std::map<std::uint32_t, std::string>* link_names = nullptr;
  // Makes UTF-8 of what a program wrote.
  std::function<std::string(const std::string&)> plain;
};

// Returns the trace of the first iteration that the recorder has. Requires: the recorder is closed
// and has one.
critical_path::RankTrace TraceOf(const Recorder& recorder, const Traced& traced);

// The links that its communication has spent time on, as numbers + 1. Requires: the same.
std::set<std::uint32_t> LinksOf(const Recorder& recorder);

}  // namespace eidolon::agent::timeline
