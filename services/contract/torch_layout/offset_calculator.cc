// PyTorch leaves unused dimensions of its calculators uninitialised, so two equal launches have
// different bytes and would count as different work. A kernel's name says how it gets its
// calculators, but not where they lie. They are recognised by what can hardly be chance: a divider
// holds a magic number that follows from its divisor (PyTorch's IntDivider), and pointers behind a
// calculator are device addresses. Where two places fit, none is taken, since clearing the wrong
// bytes would change what a kernel does.
#include "services/contract/torch_layout/offset_calculator.h"

#include <bit>
#include <cstring>

#include "services/contract/torch_layout/reduction.h"

namespace eidolon::torch_layout {
namespace {

constexpr std::uint32_t kOperandsMax = 8;

template <typename T>
T At(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// {divisor, m1, shift} as PyTorch's IntDivider computes them.
bool IsDivider(const std::byte* bytes) {
  const auto divisor = At<std::uint32_t>(bytes);
  const auto shift = At<std::uint32_t>(bytes + 8);
  if (divisor == 0 || divisor > 0x7fffffff) return false;
  if (shift != static_cast<std::uint32_t>(std::bit_width(divisor - 1))) return false;
  const std::uint64_t one = 1;
  const std::uint64_t magic = ((one << 32) * ((one << shift) - divisor)) / divisor + 1;
  return At<std::uint32_t>(bytes + 4) == static_cast<std::uint32_t>(magic);
}

// The number of operands follows from the pointers, one for each, that stand behind the calculator.
// The largest that fits: what looks like fewer may be chance among the strides.
std::vector<OffsetCalculator> InLambda(const CalculatorPlace& place) {
  const auto [block, offset, bytes, is_address] = place;
  for (std::uint32_t operands = kOperandsMax; operands > 0; --operands) {
    const std::size_t pointers = OffsetCalculator::AlignedBytes(operands);
    const OffsetCalculator found{
        .offset = offset,
        .operands = operands,
        .padding = static_cast<std::uint32_t>(pointers - OffsetCalculator::Bytes(operands))};
    if (pointers + 8 * operands > bytes || !found.Fits(block)) continue;
    bool all = true;
    for (std::uint32_t i = 0; i < operands && all; ++i) {
      all = is_address(At<std::uint64_t>(block + offset + pointers + 8 * i));
    }
    if (all) return {found};
  }
  return {};
}

// {calculator of three operands, output, input, number of indices, ...}.
std::vector<OffsetCalculator> InIndex(const CalculatorPlace& place) {
  const auto [block, offset, bytes, is_address] = place;
  const OffsetCalculator found{.offset = offset, .operands = 3, .padding = 4};
  const std::size_t pointers = OffsetCalculator::AlignedBytes(3);
  if (pointers + 16 > bytes || !found.Fits(block)) return {};
  for (const std::size_t at : {pointers, pointers + 8}) {
    if (!is_address(At<std::uint64_t>(block + offset + at))) return {};
  }
  return {found};
}

// ReduceOp has both calculators near its end.
std::vector<OffsetCalculator> InReduction(const CalculatorPlace& place) {
  const auto [block, offset, bytes, is_address] = place;
  constexpr std::size_t kTail = ReduceOp::kTail;
  constexpr std::size_t kBoth = OffsetCalculator::Bytes(1) + OffsetCalculator::Bytes(2);
  std::vector<OffsetCalculator> found;
  for (const std::uint32_t padding : {0, 4}) {
    if (bytes < kTail + kBoth + padding) continue;
    const auto first = static_cast<std::uint32_t>(offset + bytes - kTail - padding - kBoth);
    const OffsetCalculator input{.offset = first, .operands = 1};
    const OffsetCalculator output{
        .offset = static_cast<std::uint32_t>(first + OffsetCalculator::Bytes(1)),
        .operands = 2,
        .padding = padding};
    if (first % 4 != 0 || !input.Fits(block) || !output.Fits(block)) continue;
    if (!found.empty()) return {};  // Both places would do.
    found = {input, output};
  }
  return found;
}

}  // namespace

bool OffsetCalculator::Fits(const std::byte* block) const {
  const std::byte* at = block + offset;
  const auto dims = At<std::int32_t>(at);
  if (dims < 0 || dims > static_cast<std::int32_t>(kDimensions)) return false;
  for (std::int32_t i = 0; i < dims; ++i) {
    if (!IsDivider(at + SizeAt(static_cast<std::size_t>(i)))) return false;
  }
  return true;
}

void OffsetCalculator::ClearUnused(std::byte* block) const {
  std::byte* at = block + offset;
  const auto dims = static_cast<std::size_t>(At<std::int32_t>(at));
  const std::size_t left = kDimensions - dims;
  std::memset(at + SizeAt(dims), 0, 12 * left);
  std::memset(at + StrideAt(dims, 0), 0, 4 * operands * left + padding);
}

CalculatorUse CalculatorUseOf(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  if (has("13reduce_kernelI") && has("8ReduceOpI")) return CalculatorUse::kReduction;
  if (has("24index_elementwise_kernelI") && has("16gpu_index_kernelI")) {
    return CalculatorUse::kIndex;
  }
  if (has("18elementwise_kernelI") && has("22gpu_kernel_impl_nocastI")) {
    return CalculatorUse::kLambda;
  }
  if (has("16OffsetCalculatorI")) return CalculatorUse::kParameters;
  return CalculatorUse::kNone;
}

std::vector<OffsetCalculator> FindCalculators(CalculatorUse use, const CalculatorPlace& place) {
  if (place.bytes < OffsetCalculator::Bytes(1)) return {};
  if (use == CalculatorUse::kLambda) return InLambda(place);
  if (use == CalculatorUse::kIndex) return InIndex(place);
  if (use == CalculatorUse::kReduction) return InReduction(place);
  if (use != CalculatorUse::kParameters) return {};
  for (std::uint32_t operands = 1; operands <= kOperandsMax; ++operands) {
    const OffsetCalculator found{.offset = place.offset, .operands = operands};
    if (OffsetCalculator::Bytes(operands) == place.bytes && found.Fits(place.block)) return {found};
  }
  return {};
}

}  // namespace eidolon::torch_layout
