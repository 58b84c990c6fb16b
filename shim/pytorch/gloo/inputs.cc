// Gloo sees bytes, and a rule needs to know what they are. Two live members that give the same
// bytes show that all give them. Where they differ, integers in steps are the common case (ranks,
// sizes, offsets), and the width alone does not tell an integer from a float: a value whose bits
// would be a subnormal number, or a NaN with the sign bit, is taken for a small integer. A float in
// use hardly ever has such bits. What follows from no rule is copied from the live member and noted
// as a guess, which the report counts.
#include "shim/pytorch/gloo/inputs.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "services/contract/folding/pickles.h"

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
    const auto is_small = [normal](std::int64_t value) {
      return value > -normal && value < normal;
    };
    if (of_a != of_b && (!is_small(of_a) || !is_small(of_b))) return false;
  }
  return true;
}

bool DifferAsIntegers(std::size_t width, const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  if (width == 4) return DifferAsIntegers<std::int32_t>(a, b, kNormal32);
  return width == 8 && DifferAsIntegers<std::int64_t>(a, b, kNormal64);
}

std::int64_t FirstInteger(const std::string& bytes) {
  std::int64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

Inputs::Inputs(const folding::Twins& twins, std::size_t element_bytes, ByRank live)
    : twins_(twins), element_bytes_(element_bytes), live_(std::move(live)) {}

void Inputs::AreSizesOfObjects() {
  are_sizes_of_objects_ = element_bytes_ == sizeof(std::int64_t) && !live_.empty() &&
                          live_.begin()->second.size() == sizeof(std::int64_t);
}

const std::string& Inputs::Of(std::int32_t rank) {
  if (!twins_.IsMirrored(rank)) return live_.at(rank);
  const folding::Twin& twin = twins_.at(rank);
  const std::string& mirrored = live_.at(twin.live);
  const auto other = live_.find(twin.other);
  if (other == live_.end()) return mirrored;
  if (are_sizes_of_objects_) {
    made_.resize(mirrored.size());
    const std::int64_t room = FirstInteger(mirrored) + FirstInteger(other->second);
    std::memcpy(made_.data(), &room, sizeof(room));
    return made_;
  }
  if (other->second == mirrored) return mirrored;
  if (DifferAsIntegers(element_bytes_, mirrored, other->second)) {
    auto value = folding::GoOnInSteps(element_bytes_, {twin.live, mirrored},
                                      {twin.other, other->second}, rank);
    if (value.has_value()) {
      made_ = std::move(*value);
      return made_;
    }
  }
  if (element_bytes_ == 1) {
    auto pickle = folding::GoOnInPickle({twin.live, mirrored}, {twin.other, other->second}, rank);
    if (pickle.has_value() && pickle->size() <= mirrored.size()) {
      pickle->resize(mirrored.size(), '\0');  // Nobody reads behind its end.
      made_ = std::move(*pickle);
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
