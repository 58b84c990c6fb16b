// What the counted host model adds to a call and to a Python function. launch_bench's
// EnterAndAppend is the same call in the fixed model.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "services/contract/ring/record.h"
#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/frame_count.h"
#include "shim/core/session.h"

namespace eidolon::shim::core {
namespace {

EvaluateFrame current = nullptr;
void* note = nullptr;

void* EvaluateNothing(void* /*thread*/, void* frame, int /*throws*/) {
  benchmark::DoNotOptimize(frame);
  return frame;
}

// An interpreter of one function.
Evaluation FakeInterpreter() {
  return {.current = [](void*) { return current; },
          .replace = [](void*, EvaluateFrame evaluate) { current = evaluate; },
          .own = EvaluateNothing,
          .interpreter = []() -> void* { return nullptr; },
          .code_of = [](void* frame) { return frame; },
          .get_note =
              [](void*, std::int64_t, void** kept) {
                *kept = note;
                return 0;
              },
          .set_note =
              [](void*, std::int64_t, void* kept) {
                note = kept;
                return 0;
              },
          .note = 0,
          .is_left_out = [](void*) { return false; }};
}

void EnterAndAppendCounted(benchmark::State& state) {
  FakeAgent::Start(
      {.host_model = ring::HostModel::kCounted, .frame_ps = 450'000, .keep_records = false});
  Session& session = *Session::Get();
  ring::LaunchRecord record{};
  record.header.kind = ring::RecordKind::kLaunch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Enter("launch", ring::CallClass::kLaunch, -1, [&] {
      Append(session, record);
      return 0;
    }));
  }
}
BENCHMARK(EnterAndAppendCounted);

// `counted` 0: the interpreter's own evaluation, of a function that does nothing.
void EvaluateAFunction(benchmark::State& state) {
  current = EvaluateNothing;
  if (state.range(0) != 0) CountFramesOf(FakeInterpreter());
  for (auto _ : state) benchmark::DoNotOptimize(current(nullptr, &state, 0));
  current = EvaluateNothing;
}
BENCHMARK(EvaluateAFunction)->ArgName("counted")->Arg(0)->Arg(1);

}  // namespace
}  // namespace eidolon::shim::core
