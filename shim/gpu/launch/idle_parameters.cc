// A work is identified by the bytes of its parameters, so bytes that no thread reads would make
// equal launches look different: garbage between fields, unused array elements, empty functors.
// What the code reads is found by analysis of the kernel's machine code, and where it is not
// understood everything counts as read: a byte that is cleared wrongly would join works that
// differ. Layouts of PyTorch's structures (torch_layout) tell how much of an array is in use, which
// the code alone cannot.
//
// Clear comes before pointers are blanked, as it must not clear device addresses; TakeNumbers comes
// after.
#include "shim/gpu/launch/idle_parameters.h"

#include <algorithm>
#include <cstring>

#include "services/contract/torch_layout/reduction.h"
#include "services/contract/workload/pointer_tag.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/arena.h"
#include "shim/value/compute/parameter_reads.h"

namespace eidolon::shim::gpu {
namespace {

// Marks the bytes of a block that count as read: scalars, and what the code reads. An indexed read
// may reach every array, which is what parameters of more than kScalar bytes may be.
std::vector<bool> BytesRead(std::string_view name, std::span<const cubin::Parameter> parameters,
                            const std::vector<interpret::ParameterRead>& reads, std::size_t size) {
  constexpr std::uint32_t kScalar = 16;
  std::vector<bool> read(size, true);
  // A number or a pointer is there whole, and may tell sizes also when the code does not need it.
  // In PyTorch's element-wise kernels only the first parameter is one; what follows are functors.
  const bool elementwise = name.find("elementwise_kernelI") != std::string_view::npos;
  for (const cubin::Parameter& parameter : parameters) {
    const bool scalar = parameter.bytes == 2 || parameter.bytes == 4 || parameter.bytes == 8;
    if (scalar && (!elementwise || parameter.offset == 0)) continue;
    std::fill_n(read.begin() + parameter.offset, parameter.bytes, false);
  }
  const auto mark = [&](std::size_t begin, std::size_t bytes) {
    for (std::size_t at = begin; at < std::min(begin + bytes, size); ++at) read[at] = true;
  };
  for (const interpret::ParameterRead& entry : reads) {
    mark(entry.offset, entry.bytes);
    if (!entry.indexed) continue;
    for (const cubin::Parameter& parameter : parameters) {
      const bool holds =
          entry.offset >= parameter.offset && entry.offset < parameter.offset + parameter.bytes;
      if (holds || parameter.bytes > kScalar) mark(parameter.offset, parameter.bytes);
    }
  }
  return read;
}

// What a reduction was configured with tells how much there is to do, also where the code does not
// need it: only the bytes beside one that is read are padding.
void KeepWholeWords(std::vector<bool>& read) {
  for (std::size_t at = torch_layout::ReduceConfig::kOperation; at + 4 <= read.size(); at += 4) {
    const auto word = read.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::none_of(word, word + 4, [](bool r) { return r; })) std::fill_n(word, 4, true);
  }
}

// Zeroes bytes, but for words that point into device memory: they tell what a launch works on.
void ClearRange(std::byte* block, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t at = begin; at < end;) {
    const std::uint32_t next = std::min(end, (at / 8 + 1) * 8);
    std::uint64_t word = 0;
    if (next - at == 8) std::memcpy(&word, block + at, 8);
    if (!HoldsDeviceAddress(word)) std::memset(block + at, 0, next - at);
    at = next;
  }
}

// Of PyTorch's kernels over lists of tensors, which are told how much there is to do by the lists'
// tables alone (timing/kernel/multi_tensor.cc): what else is a number is one to compute with.
// Requires: the lists are the first parameter.
std::vector<std::pair<std::uint32_t, std::uint32_t>> NumbersOf(
    std::string_view name, const torch_layout::TensorLists& lists,
    std::span<const cubin::Parameter> parameters) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;
  if (name.find("multi_tensor_apply_kernel") == std::string_view::npos) return numbers;
  const std::uint32_t first = parameters.front().offset;
  const auto [begin, end] = lists.Scalars();
  numbers.emplace_back(first + begin, first + end);
  const cubin::Parameter& last = parameters.back();
  numbers.emplace_back(first + parameters.front().bytes, (last.offset + last.bytes + 7) / 8 * 8);
  return numbers;
}

// Finds, for the kernels in which XLA adds up small arrays of several GPUs, the GPU's number and
// that of the call, which its peers wait to see. The pair of them is one word of eight bytes; sizes
// are compiled in.
std::vector<std::pair<std::uint32_t, std::uint32_t>> NumbersOfXlaSum(
    std::string_view name, std::span<const cubin::Parameter> parameters) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> numbers;
  if (!name.starts_with("all_reduce_start")) return numbers;
  for (std::size_t i = 0; i + 1 < parameters.size(); ++i) {
    const cubin::Parameter& first = parameters[i];
    const bool is_pair = first.bytes == 4 && first.offset % 8 == 0 &&
                         parameters[i + 1].bytes == 4 &&
                         parameters[i + 1].offset == first.offset + 4;
    if (is_pair) numbers.emplace_back(first.offset, first.offset + 8);
  }
  return numbers;
}

}  // namespace

IdleParameters::IdleParameters(std::string_view name, std::span<const cubin::Parameter> parameters,
                               const std::vector<interpret::ParameterRead>* reads)
    : numbers_(NumbersOfXlaSum(name, parameters)),
      calculators_(torch_layout::CalculatorUseOf(name)) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const cubin::Parameter& parameter = parameters[i];
    size = std::max<std::size_t>(size, parameter.offset + parameter.bytes);
    if (calculators_ != torch_layout::CalculatorUse::kNone &&
        parameter.bytes >= torch_layout::OffsetCalculator::Bytes(1)) {
      calculator_places_.emplace_back(parameter.offset, parameter.bytes);
    }
    if (const auto lists = torch_layout::FindTensorLists(name, parameter.bytes)) {
      lists_.emplace(parameter.offset, *lists);
      if (i == 0) numbers_ = NumbersOf(name, *lists, parameters);
    } else if (const auto inputs = torch_layout::FindConcatenatedInputs(name, parameter.bytes)) {
      inputs_.emplace(parameter.offset, *inputs);
      // The shape of the output.
      if (i + 1 < parameters.size() && parameters[i + 1].bytes == inputs->BytesOfShape()) {
        output_shape_ = parameters[i + 1].offset;
      }
    }
  }
  if (reads == nullptr) return;
  std::vector<bool> read = BytesRead(name, parameters, *reads, size);
  if (calculators_ == torch_layout::CalculatorUse::kReduction) KeepWholeWords(read);
  for (std::uint32_t at = 0; at < size; ++at) {
    if (read[at]) continue;
    if (!ranges_.empty() && ranges_.back().second == at) {
      ++ranges_.back().second;
    } else {
      ranges_.emplace_back(at, at + 1);
    }
  }
}

void IdleParameters::Clear(std::byte* block, const workload::Dim3& grid) const {
  for (const auto& [begin, end] : ranges_) ClearRange(block, begin, end);
  for (const auto& [offset, bytes] : calculator_places_) {
    for (const auto& found :
         torch_layout::FindCalculators(calculators_, {block, offset, bytes, HoldsDeviceAddress})) {
      found.ClearUnused(block);
    }
  }
  if (lists_) lists_->second.ClearUnused(block + lists_->first, grid.x);
  if (inputs_) inputs_->second.ClearUnused(block + inputs_->first, grid.y);
  if (output_shape_) inputs_->second.ClearShape(block + *output_shape_);
}

void IdleParameters::TakeNumbers(std::byte* block, FoundWords<compute::NumberWord>& found) const {
  constexpr std::uint32_t kWord = 4;
  for (const auto& [begin, end] : numbers_) {
    for (std::uint32_t at = begin; at + 2 * kWord <= end; at += 2 * kWord) {
      std::uint64_t both;
      std::memcpy(&both, block + at, sizeof(both));
      if (both == 0 || workload::IsBlankedPointer(both)) continue;
      const auto low = static_cast<std::uint32_t>(both);
      const auto high = static_cast<std::uint32_t>(both >> 32);
      if (low != 0) found.Add({at, low});
      if (high != 0) found.Add({at + kWord, high});
      std::memset(block + at, 0, sizeof(both));
    }
  }
}

const IdleParameters& IdleParametersOf(const Kernel& kernel) {
  if (const IdleParameters* known = kernel.idle.load(std::memory_order_acquire)) return *known;
  const ring::DeviceProperties& device = PropertiesOf(0);
  const auto reads = compute::FindParameterReads(kernel.library->image(), kernel.name,
                                                 {device.compute_major, device.compute_minor});
  auto made = std::make_unique<const IdleParameters>(kernel.name, kernel.parameters,
                                                     reads ? &*reads : nullptr);
  const IdleParameters* expected = nullptr;
  if (kernel.idle.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *expected;
}

}  // namespace eidolon::shim::gpu
