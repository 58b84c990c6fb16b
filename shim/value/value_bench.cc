// Measures what values cost a program: memsets, copies and launches over memory of which nothing is
// known, and over known memory.
#include <benchmark/benchmark.h>

#include "shim/value/store.h"

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kBase = 0x6b0100000000;

void FillKept(benchmark::State& state) {
  Store store;
  for (auto _ : state) store.Fill(kBase, 0, 1, static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(FillKept)->Arg(512)->Arg(64 << 10)->Arg(1 << 20);

void CopyUnknown(benchmark::State& state) {
  Store store;
  for (auto _ : state) {
    store.Copy(kBase, kBase + (4 << 20), static_cast<std::size_t>(state.range(0)));
  }
}
BENCHMARK(CopyUnknown)->Arg(512)->Arg(1 << 20);

void CopyKnown(benchmark::State& state) {
  Store store;
  store.Fill(kBase + (4 << 20), 1, 1, 1 << 20);
  for (auto _ : state) {
    store.Copy(kBase, kBase + (4 << 20), static_cast<std::size_t>(state.range(0)));
  }
}
BENCHMARK(CopyKnown)->Arg(512)->Arg(1 << 20);

void NoteUnknownPointer(benchmark::State& state) {
  Store store;
  store.Fill(kBase, 1, 1, 512);
  for (auto _ : state) store.NoteKernelPointer(kBase + (64 << 20));
}
BENCHMARK(NoteUnknownPointer);

void NoteKnownPointer(benchmark::State& state) {
  Store store;
  store.Fill(kBase, 1, 1, 1 << 20);
  for (auto _ : state) store.NoteKernelPointer(kBase);
}
BENCHMARK(NoteKnownPointer);

}  // namespace
}  // namespace eidolon::shim::value
