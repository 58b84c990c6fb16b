#include "services/torch_layout/tensor_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace eidolon::torch_layout {
namespace {

constexpr std::size_t kPointer = 8;
constexpr std::size_t kCount = 8;
constexpr std::size_t kTensorIndex = 2;
constexpr std::size_t kChunkIndex = 4;
constexpr std::size_t kShapeDimensions = 4;

std::size_t RoundedUp(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// The integer template argument ("Li3E") at the front of `text`, which becomes what follows.
std::optional<std::size_t> IntegerArgument(std::string_view& text) {
  if (!text.starts_with("Li")) return std::nullopt;
  std::size_t value = 0;
  const char* begin = text.data() + 2;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || next == end || *next != 'E') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(next + 1 - text.data()));
  return value;
}

// What follows `word` in `name`; empty when it is not there.
std::string_view Behind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  return at == std::string_view::npos ? std::string_view() : name.substr(at + word.size());
}

// The first integer argument behind any type argument.
std::optional<std::size_t> FirstInteger(std::string_view text) {
  const std::size_t at = text.find("Li");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at);
  return IntegerArgument(text);
}

void Zero(std::byte* bytes, std::size_t item, std::size_t from, std::size_t to) {
  if (from < to) std::memset(bytes + item * from, 0, item * (to - from));
}

}  // namespace

std::size_t TensorLists::BytesOfTables() const {
  return (kPointer * depth + kCount + extra) * tensors + (kTensorIndex + kChunkIndex) * kBlocks;
}

std::pair<std::size_t, std::size_t> TensorLists::Scalars() const {
  const std::size_t begin = (kPointer * depth + kCount) * tensors;
  return {begin, begin + (has_scalars ? extra * tensors : 0)};
}

void TensorLists::ClearUnused(std::byte* bytes, std::uint32_t blocks) const {
  std::byte* const counts = bytes + kPointer * depth * tensors;
  std::byte* const extras = counts + kCount * tensors;
  std::byte* const owners = extras + extra * tensors;
  std::byte* const chunks = owners + kTensorIndex * kBlocks;
  if (blocks > kBlocks) return;
  std::size_t used = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::uint16_t tensor;
    std::memcpy(&tensor, owners + kTensorIndex * block, sizeof(tensor));
    used = std::max<std::size_t>(used, std::size_t{tensor} + 1);
  }
  if (used > tensors) return;
  for (std::size_t list = 0; list < depth; ++list) {
    Zero(bytes + kPointer * tensors * list, kPointer, used, tensors);
  }
  Zero(counts, kCount, used, tensors);
  Zero(extras, extra, used, tensors);
  Zero(owners, kTensorIndex, blocks, kBlocks);
  Zero(chunks, kChunkIndex, blocks, kBlocks);
  constexpr std::size_t kFirstTensor = 4;  // start_tensor_this_launch.
  if (padding != 0) std::memset(chunks + kChunkIndex * kBlocks + kFirstTensor, 0, padding);
}

void ConcatenatedInputs::ClearUnused(std::byte* bytes, std::uint32_t used) const {
  if (used > inputs) return;
  Zero(bytes, kPointer, used, inputs);
  std::byte* at = bytes + kPointer * inputs;
  for (int array = 0; array < 3; ++array, at += index * inputs) Zero(at, index, used, inputs);
  Zero(at, 1, used, inputs);
  at += inputs;
  const std::size_t whole = BytesOfShape();
  const std::size_t shapes_used = shapes == 1 ? 0 : std::min<std::size_t>(used, shapes);
  for (std::size_t shape = 0; shape < shapes_used; ++shape) {
    ClearShape(at + whole * shape);
  }
  Zero(at, whole, shapes_used, shapes);
}

void ConcatenatedInputs::ClearShape(std::byte* shape) const {
  Zero(shape, index, dimensions, kShapeDimensions);
  Zero(shape + kShapeDimensions * index, index, dimensions, kShapeDimensions);
}

std::size_t ConcatenatedInputs::BytesOfShape() const { return 2 * kShapeDimensions * index; }

std::optional<TensorLists> FindTensorLists(std::string_view name, std::size_t bytes) {
  constexpr std::array<std::size_t, 5> kTensors = {770, 448, 336, 252, 210};
  const bool scalars = name.find("TensorListScalarListMetadataI") != std::string_view::npos;
  const bool fused = name.find("FusedOptimizerTensorListMetadataI") != std::string_view::npos;
  const auto depth =
      FirstInteger(Behind(name, scalars ? "TensorListScalarListMetadataI" : "TensorListMetadataI"));
  if (!depth || *depth < 1 || *depth > kTensors.size()) return std::nullopt;
  TensorLists lists{
      .depth = *depth, .tensors = kTensors[*depth - 1], .extra = fused ? kPointer : 0};
  const auto whole = [&](std::size_t tail) { return RoundedUp(lists.BytesOfTables() + tail); };
  if (!scalars) {
    constexpr std::size_t kFirstTensor = 4;  // start_tensor_this_launch.
    if (whole(kFirstTensor) != bytes) return std::nullopt;
    lists.padding = bytes - lists.BytesOfTables() - kFirstTensor;
    return lists;
  }
  lists.has_scalars = true;
  // The scalar's type is one of a few sizes, and lists with them are shorter.
  struct Scalars {
    std::size_t extra;
    std::size_t depth;
    std::size_t tensors;
  };
  for (const Scalars& entry :
       {Scalars{4, 1, 672}, Scalars{8, 1, 672}, Scalars{16, 1, 504}, Scalars{16, 2, 420},
        Scalars{4, *depth, lists.tensors}, Scalars{8, *depth, lists.tensors},
        Scalars{16, *depth, lists.tensors}}) {
    if (entry.depth != *depth) continue;
    lists.extra = entry.extra;
    lists.tensors = entry.tensors;
    if (whole(0) == bytes) return lists;
  }
  return std::nullopt;
}

std::optional<ConcatenatedInputs> FindConcatenatedInputs(std::string_view name, std::size_t bytes) {
  if (name.find("CatArrayBatchedCopy") == std::string_view::npos) return std::nullopt;
  for (const auto& [letter, index] : {std::pair('j', 4u), std::pair('m', 8u), std::pair('l', 8u)}) {
    // <type, index type, dimensions, inputs, structures of sizes and strides>
    for (std::size_t at = name.find(letter); at != std::string_view::npos;
         at = name.find(letter, at + 1)) {
      std::string_view text = name.substr(at + 1);
      const auto dimensions = IntegerArgument(text);
      const auto inputs = dimensions ? IntegerArgument(text) : std::nullopt;
      const auto strides = inputs ? IntegerArgument(text) : std::nullopt;
      if (!strides || *inputs % 4 != 0 || *inputs > 4096 || *strides > 4096) continue;
      if (*dimensions > kShapeDimensions) continue;
      const std::size_t whole =
          *inputs * (kPointer + 3 * index + 1) + *strides * 2 * kShapeDimensions * index;
      if (RoundedUp(whole) == RoundedUp(bytes)) {
        return ConcatenatedInputs{
            .inputs = *inputs, .index = index, .shapes = *strides, .dimensions = *dimensions};
      }
    }
  }
  return std::nullopt;
}

}  // namespace eidolon::torch_layout
