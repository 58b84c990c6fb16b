// The hot path of a launch: entry, charge, interned work, record in the ring.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>

#include "services/contract/workload/work.h"
#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

Session& StartSession() {
  FakeAgent::Start({.keep_records = false});
  return *Session::Get();
}

void EnterAndAppend(benchmark::State& state) {
  Session& session = StartSession();
  ring::LaunchRecord record{};
  record.header.kind = ring::RecordKind::kLaunch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Enter("launch", ring::CallClass::kLaunch, -1, [&] {
      Append(session, record);
      return 0;
    }));
  }
}
BENCHMARK(EnterAndAppend);

void EnterInternAndAppend(benchmark::State& state) {
  Session& session = StartSession();
  ring::LaunchRecord record{};
  record.header.kind = ring::RecordKind::kLaunch;
  std::array<std::byte, 400> definition{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(Enter("launch", ring::CallClass::kLaunch, -1, [&] {
      record.work = session.InternWork(definition);
      Append(session, record);
      return 0;
    }));
  }
}
BENCHMARK(EnterInternAndAppend);

}  // namespace
}  // namespace eidolon::shim::core
