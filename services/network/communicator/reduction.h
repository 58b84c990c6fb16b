// Exact reductions of members' numbers, for values that programs read back. Sums of floating-point
// numbers are accumulated in double and rounded once, so they do not depend on an order of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace eidolon::network::communicator {

// ncclRedOp_t's numbers. Larger ones are operators the program made.
enum ReductionType : std::uint32_t {
  kSum = 0,
  kProduct = 1,
  kMaximum = 2,
  kMinimum = 3,
  kAverage = 4
};

// "sum", "custom".
std::string_view ReductionName(std::uint32_t reduction);

// The members' buffers combined element by element. Nothing when the type or operator is not known,
// when the buffers differ in size or hold no whole number of elements.
std::optional<std::string> Combine(std::uint32_t type, std::uint32_t reduction,
                                   std::span<const std::string_view> inputs);

}  // namespace eidolon::network::communicator
