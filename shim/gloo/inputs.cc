#include "shim/gloo/inputs.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace eidolon::shim::gloo {
namespace {

// Below these, bits are not those of a normal floating-point number of that width, nor above their
// negatives: zeros, subnormal numbers and NaNs.
constexpr std::int64_t kNormal32 = std::int64_t{1} << 23;
constexpr std::int64_t kNormal64 = std::int64_t{1} << 52;

template <typename Integer>
bool DifferAsIntegers(const std::string& a, const std::string& b, std::int64_t normal) {
  for (std::size_t at = 0; at + sizeof(Integer) <= a.size(); at += sizeof(Integer)) {
    Integer of_a = 0, of_b = 0;
    std::memcpy(&of_a, a.data() + at, sizeof(of_a));
    std::memcpy(&of_b, b.data() + at, sizeof(of_b));
    const auto is_small = [normal](std::int64_t value) { return value > -normal && value < normal; };
    if (of_a != of_b && (!is_small(of_a) || !is_small(of_b))) return false;
  }
  return true;
}

bool DifferAsIntegers(std::size_t width, const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  if (width == 4) return DifferAsIntegers<std::int32_t>(a, b, kNormal32);
  return width == 8 && DifferAsIntegers<std::int64_t>(a, b, kNormal64);
}

}  // namespace

Inputs::Inputs(const folding::Twins& twins, std::size_t element_bytes, ByRank live)
    : twins_(twins), element_bytes_(element_bytes), live_(std::move(live)) {}

const std::string& Inputs::Of(std::int32_t rank) {
  if (!twins_.IsGhost(rank)) return live_.at(rank);
  const folding::Twin& twin = twins_.at(rank);
  const std::string& mirrored = live_.at(twin.live);
  const auto other = live_.find(twin.other);
  if (other == live_.end() || other->second == mirrored) return mirrored;
  if (DifferAsIntegers(element_bytes_, mirrored, other->second)) {
    auto value = folding::GoOnInSteps(element_bytes_, {twin.live, mirrored},
                                      {twin.other, other->second}, rank);
    if (value.has_value()) {
      made_ = std::move(*value);
      return made_;
    }
  }
  has_guessed_ = true;
  return mirrored;
}

const std::string& Inputs::Of(std::int32_t rank, std::size_t bytes) {
  const std::string& whole = Of(rank);
  if (whole.size() == bytes) return whole;
  has_guessed_ = true;
  std::string fitting = whole.substr(0, bytes);
  fitting.resize(bytes, '\0');
  made_ = std::move(fitting);
  return made_;
}

}  // namespace eidolon::shim::gloo
