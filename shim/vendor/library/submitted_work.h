// Reads back, for tests of the math libraries, what the last calls put on a stream, from the fake
// agent.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "services/contract/ring/record.h"
#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"

namespace eidolon::shim::library {

// The definitions launched since the last Reset, in order.
inline std::vector<std::vector<std::byte>> LaunchedWork(core::FakeAgent& agent) {
  std::vector<std::vector<std::byte>> all;
  for (const auto& record : agent.RecordsOf(ring::RecordKind::kLaunch)) {
    all.push_back(agent.Work(record.As<ring::LaunchRecord>().work));
  }
  return all;
}

// The fixed part of a definition.
template <typename Work>
Work As(const std::vector<std::byte>& definition) {
  Work work{};
  if (definition.size() >= sizeof(work)) std::memcpy(&work, definition.data(), sizeof(work));
  return work;
}

// The name of a workload::Library.
inline std::string NameOf(const std::vector<std::byte>& definition) {
  const auto work = As<workload::Library>(definition);
  return {reinterpret_cast<const char*>(definition.data()) + sizeof(work), work.name_bytes};
}

// An agent with a current device and no records yet.
inline core::FakeAgent& StartAgent() {
  core::FakeAgent& agent = core::FakeAgent::Start();
  gpu::SetDevice(0);
  agent.Reset();
  return agent;
}

}  // namespace eidolon::shim::library
