// Files of kept footprints: what was formatted is read back as it was, unless it names a pointer
// that its launches do not have; a changed byte, a missing one or one more is damage. The input's
// first bytes say how many pointers there are and which byte is changed, the others are numbers.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "shim/value/compute/kept_footprints.h"

namespace {

using namespace eidolon;
using shim::compute::Format;
using shim::compute::KeptFootprint;
using shim::compute::KeptFootprints;
using shim::compute::Parse;

constexpr base::Digest kBuild{1, 2}, kKey{3, 4};

class Numbers {
 public:
  explicit Numbers(std::span<const unsigned char> bytes) : left_(bytes) {}

  bool empty() const { return left_.empty(); }
  std::uint32_t Next() {
    std::uint32_t number = 0;
    const std::size_t size = std::min(sizeof(number), left_.size());
    std::memcpy(&number, left_.data(), size);
    left_ = left_.subspan(size);
    return number;
  }

 private:
  std::span<const unsigned char> left_;
};

KeptFootprint NextOf(Numbers& numbers) {
  const std::uint32_t shape = numbers.Next();
  std::vector<shim::compute::Condition::Word> words;
  for (std::uint32_t i = 0; i < (shape & 3); ++i) {
    words.push_back({numbers.Next(), numbers.Next(), numbers.Next()});
  }
  KeptFootprint one{.condition = shim::compute::Condition(std::move(words)), .footprint = {}};
  for (std::uint32_t i = 0; i < (shape >> 2 & 3); ++i) {
    const auto begin = static_cast<std::int32_t>(numbers.Next());
    const auto end = static_cast<std::int32_t>(numbers.Next());
    one.footprint.writes.push_back({numbers.Next() % 8, begin, end, (shape & 64) != 0});
  }
  for (std::uint32_t i = 0; i < (shape >> 4 & 3); ++i) {
    one.footprint.buffers.push_back(numbers.Next() % 8);
  }
  one.footprint.everything = (shape & 128) != 0;
  one.all_variables = (shape & 256) != 0;
  return one;
}

bool IsSound(const KeptFootprint& one, std::size_t pointers) {
  return std::ranges::all_of(
             one.footprint.writes,
             [&](const auto& w) { return w.pointer < pointers && w.begin <= w.end; }) &&
         std::ranges::all_of(one.footprint.buffers, [&](auto at) { return at < pointers; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto raw = std::as_bytes(std::span(data, size));
  if (Parse(raw, kBuild, kKey, 8)) return 0;
  Numbers numbers({data, size});
  if (numbers.empty()) return 0;
  const std::size_t pointers = numbers.Next() % 9;
  const std::uint32_t changed = numbers.Next();
  std::vector<KeptFootprint> all;
  bool is_sound = true;
  while (!numbers.empty() && all.size() < KeptFootprints::kMostOfKey) {
    all.push_back(NextOf(numbers));
    is_sound = is_sound && IsSound(all.back(), pointers);
  }
  std::vector<std::byte> bytes = Format(kBuild, kKey, all);
  const auto read = Parse(bytes, kBuild, kKey, pointers);
  if (read.has_value() != is_sound) __builtin_trap();
  if (read && Format(kBuild, kKey, *read) != bytes) __builtin_trap();
  if (Parse(bytes, kBuild, {5, 6}, pointers)) __builtin_trap();
  bytes.push_back(std::byte{0});
  if (Parse(bytes, kBuild, kKey, pointers)) __builtin_trap();
  bytes.resize(bytes.size() - 2);
  if (Parse(bytes, kBuild, kKey, pointers)) __builtin_trap();
  bytes = Format(kBuild, kKey, all);
  bytes[changed % bytes.size()] ^= std::byte{1};
  if (Parse(bytes, kBuild, kKey, pointers)) __builtin_trap();
  return 0;
}
