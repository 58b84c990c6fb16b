// The work is generated instead of written: 384 instances of one template differ in their
// constants, so each has instructions of its own, and data decide which one runs next. A loop over
// a large array would measure memory bandwidth; a loop within one function would stay in the
// first-level caches and in the branch predictor, which a dispatcher does not. Every run starts
// from the same state, so only its time varies, never its instructions. The reference times in the
// header hold for exactly this code: a change of a constant or of a step invalidates them.
#include "services/base/host_speed/probe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/clock.h"

namespace eidolon::host_speed {
namespace {

// So many functions, each of its own instructions, and so many calls of them in an order that data
// decide: what a dispatcher's targets look like to a branch predictor.
constexpr std::size_t kFunctions = 384;
constexpr int kCalls = 1024;
constexpr std::size_t kSlots = std::size_t{1} << 13;  // 64 KiB: beyond the first-level data cache.
constexpr std::size_t kBlocks = 64;                   // Small blocks that live at a time.
constexpr std::size_t kBlockWords = 64;

constexpr std::uint64_t Rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

}  // namespace

struct Probe::World {
  std::array<std::uint64_t, kSlots> table;
  std::array<std::array<std::uint64_t, kBlockWords>, kBlocks> blocks;
  std::array<std::uint8_t, kBlocks> free_list;
  std::uint64_t taken;  // Blocks taken so far.
};

struct Probe::Dispatch {
  // Takes a block from a free list, writes it, and gives another one back: the pattern of a
  // small-object allocator.
  static std::uint64_t Allocate(World& world, std::uint64_t x) {
    const std::uint64_t at = world.taken++ % kBlocks;
    const std::uint8_t block = world.free_list[at];
    std::swap(world.free_list[at], world.free_list[(x >> 20) % kBlocks]);
    auto& words = world.blocks[block % kBlocks];
    words[(x >> 40) % kBlockWords] = x;
    return words[(x >> 30) % kBlockWords];
  }
  template <std::size_t kN>
  [[gnu::noinline]] static std::uint64_t Step(World& world, std::uint64_t x) {
    x ^= x >> (kN % 13 + 17);
    x *= 0x9e3779b97f4a7c15u + 2 * kN;
    std::uint64_t& slot = world.table[(x >> 40) % kSlots];
    slot = ((slot ^ x) & (1u << (kN % 7))) != 0 ? slot + x * (kN | 1) : Rotate(slot, 7) ^ (x + kN);
    std::uint64_t y = slot;
    for (std::size_t i = 0; i < kN % 3 + 2; ++i) {
      std::uint64_t& other = world.table[(y >> 33) % kSlots];
      switch ((y >> (kN % 5)) & 7) {
        case 0:
          y += other + kN;
          break;
        case 1:
          y ^= other * 3;
          break;
        case 2:
          y -= world.table[((y >> 33) + 8) % kSlots];
          break;
        case 3:
          y = y * 31 + other;
          break;
        case 4:
          y ^= y >> 9;
          other = y;
          break;
        case 5:
          y += kN * 77;
          break;
        case 6:
          y = ~y + other;
          break;
        default:
          y = Rotate(y, 11) ^ other;
          break;
      }
    }
    if constexpr (kN % 4 == 0) y ^= Allocate(world, y);
    return y;
  }

  using Function = std::uint64_t (*)(World&, std::uint64_t);
  template <std::size_t... kN>
  static constexpr std::array<Function, sizeof...(kN)> MakeFunctions(std::index_sequence<kN...>) {
    return {&Step<kN>...};
  }
};

Probe::Probe() : world_(new (std::nothrow) World) {}
Probe::~Probe() = default;

std::uint64_t Probe::Run() noexcept {
  static constexpr auto kTable = Dispatch::MakeFunctions(std::make_index_sequence<kFunctions>{});
  // Every run begins alike, and so does the same.
  *world_ = {};
  for (std::size_t i = 0; i < kBlocks; ++i) world_->free_list[i] = static_cast<std::uint8_t>(i);
  std::uint64_t x = 0x1234567;
  for (std::uint64_t i = 0; i < kCalls; ++i) x = kTable[(x >> 7) % kFunctions](*world_, x + i);
  return x;
}

// Latencies decide, not how many units a core has: a round begins with the values that the one
// before has left, and the empty assembly keeps the compiler from mixing or vectorizing rounds.
std::uint64_t RunArithmetic() noexcept {
  constexpr int kRounds = 10'000;
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  for (int i = 0; i < kRounds; ++i) {
    a = (a * 0x9e3779b97f4a7c15u) ^ (a >> 29);
    b = (b * 0xbf58476d1ce4e5b9u) ^ (b >> 31);
    c = (c * 0x94d049bb133111ebu) ^ (c >> 27);
    d = (d * 0xd6e8feb86659fd93u) ^ (d >> 32);
    a += b << 7;
    c ^= d >> 3;
    b += c | 1;
    d -= a;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));  // One round after the other.
  }
  return a ^ b ^ c ^ d;
}

base::Duration TimeProbe(int runs) {
  CHECK(runs > 0);
  Probe probe;
  CHECK(probe);
  std::vector<base::Duration> times;
  for (int run = 0; run < runs; ++run) {
    const std::int64_t begin = base::ThreadCpuNs();
    const std::uint64_t result = probe.Run();
    asm volatile("" : : "r"(result) : "memory");
    times.push_back(base::Duration::Nanoseconds(base::ThreadCpuNs() - begin));
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return std::max(*middle, base::Duration::Nanoseconds(1));
}

}  // namespace eidolon::host_speed
