// Measures what learning a place's cost adds to a call of the program: history, tables, quantile.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "shim/program/host_time/host_work.h"
#include "shim/program/host_time/shared_costs.h"

namespace eidolon::shim::host_time {
namespace {

// A training step of `places` operators, again and again, each with its own kernel.
void ChargeACall(benchmark::State& state) {
  const auto rows = std::make_unique<ring::SharedHostCost[]>(ring::kSharedHostCosts);
  SharedCosts shared(rows.get());
  HostWork work(&shared);
  const auto places = static_cast<std::uint64_t>(state.range(0));
  std::uint64_t call = 0, charged = 0;
  for (auto _ : state) {
    charged += work.Before(
        0x1000, {.work_ps = 5'000'000 + call % 977, .since_switch_ps = call << 18}, 1.05);
    work.After(0x1000, call);
    call = call + 1 == places ? 0 : call + 1;
  }
  benchmark::DoNotOptimize(charged);
}
BENCHMARK(ChargeACall)->Arg(100)->Arg(1000)->Arg(3000);

}  // namespace
}  // namespace eidolon::shim::host_time
