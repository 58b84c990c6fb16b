// PyTorch fills the front of these structures and leaves the rest as it was, so equal launches have
// different bytes. Which part is used follows from the launch itself: each block names its tensor,
// and the greatest one bounds the tables. If a table makes no sense, nothing is changed. The
// lengths of the tables are PyTorch's constants for each depth, chosen there so that the structure
// fits into a kernel's arguments; a size that matches none means another version, and the structure
// is then left alone.
#include "services/contract/torch_layout/tensor_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

namespace eidolon::torch_layout {
namespace {

constexpr std::size_t kPointer = 8;
constexpr std::size_t kTensorIndex = 2;
constexpr std::size_t kChunkIndex = 4;
constexpr std::size_t kFirstTensor = 4;  // start_tensor_this_launch.
constexpr std::size_t kShapeDimensions = 4;

// Tensors of a launch at most, by depth.
constexpr std::array<std::size_t, TensorLists::kDepthMax> kTensorsLarge = {770, 448, 336, 252, 210};
constexpr std::array<std::size_t, TensorLists::kDepthMax> kTensorsSmall = {110, 64, 48, 36, 30};

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

// Returns what follows `word` in `name`; empty when it is not there.
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

template <typename T>
T Read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
template <typename T>
void Write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

void Zero(std::byte* bytes, std::size_t item, std::size_t from, std::size_t to) {
  if (from < to) std::memset(bytes + item * from, 0, item * (to - from));
}

}  // namespace

std::size_t TensorLists::CountsAt() const { return kPointer * depth * tensors; }

std::size_t TensorLists::ExtrasAt() const { return CountsAt() + count_bytes * tensors; }

std::size_t TensorLists::OwnersAt() const { return ExtrasAt() + extra * tensors; }

std::size_t TensorLists::ChunksAt() const {
  const std::size_t end = OwnersAt() + tensor_index_bytes * blocks;
  return (end + kChunkIndex - 1) / kChunkIndex * kChunkIndex;
}

std::size_t TensorLists::BytesOfTables() const { return ChunksAt() + kChunkIndex * blocks; }

std::size_t TensorLists::OwnerOf(const std::byte* owners, std::size_t block) const {
  const std::byte* const at = owners + tensor_index_bytes * block;
  return tensor_index_bytes == 1 ? std::to_integer<std::size_t>(*at) : Read<std::uint16_t>(at);
}

std::pair<std::size_t, std::size_t> TensorLists::Scalars() const {
  return {ExtrasAt(), ExtrasAt() + (has_scalars ? extra * tensors : 0)};
}

void TensorLists::ClearUnused(std::byte* bytes, std::uint32_t launched) const {
  std::byte* const counts = bytes + CountsAt();
  std::byte* const extras = bytes + ExtrasAt();
  std::byte* const owners = bytes + OwnersAt();
  std::byte* const chunks = bytes + ChunksAt();
  if (launched > blocks) return;
  std::size_t used = 0;
  for (std::size_t block = 0; block < launched; ++block) {
    used = std::max(used, OwnerOf(owners, block) + 1);
  }
  if (used > tensors) return;
  for (std::size_t list = 0; list < depth; ++list) {
    Zero(bytes + kPointer * tensors * list, kPointer, used, tensors);
  }
  Zero(counts, count_bytes, used, tensors);
  Zero(extras, extra, used, tensors);
  Zero(owners, tensor_index_bytes, launched, blocks);
  Zero(chunks, kChunkIndex, launched, blocks);
  std::memset(bytes + BytesOfTables() + (has_first_tensor ? kFirstTensor : 0), 0, padding);
}

void TensorLists::NumberFromFirstChunk(std::byte* bytes, std::uint32_t launched) const {
  if (launched > blocks || count_bytes != 8 || tensor_index_bytes != kTensorIndex) return;
  struct Reach {
    std::int32_t first = std::numeric_limits<std::int32_t>::max();
    std::int32_t last = 0;
  };
  std::vector<Reach> reaches(tensors);
  for (std::size_t block = 0; block < launched; ++block) {
    const auto tensor = Read<std::uint16_t>(bytes + OwnersAt() + kTensorIndex * block);
    const auto chunk = Read<std::int32_t>(bytes + ChunksAt() + kChunkIndex * block);
    if (tensor >= tensors || chunk < 0) return;
    Reach& reach = reaches[tensor];
    reach.first = std::min(reach.first, chunk);
    reach.last = std::max(reach.last, chunk);
  }
  constexpr auto kElements = static_cast<std::int64_t>(kChunk);
  for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
    const Reach& reach = reaches[tensor];
    if (reach.first > reach.last) continue;
    std::byte* const at = bytes + CountsAt() + count_bytes * tensor;
    const auto elements = Read<std::int64_t>(at);
    if (elements <= 0) continue;
    const std::int64_t end = kElements * (std::int64_t{reach.last} + 1);
    Write(at, std::min(elements, end) - kElements * reach.first);
  }
  for (std::size_t block = 0; block < launched; ++block) {
    const auto tensor = Read<std::uint16_t>(bytes + OwnersAt() + kTensorIndex * block);
    std::byte* const at = bytes + ChunksAt() + kChunkIndex * block;
    Write(at, Read<std::int32_t>(at) - reaches[tensor].first);
  }
  // start_tensor_this_launch says where results go.
  if (padding != 0) Write(bytes + BytesOfTables(), std::int32_t{0});
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

std::size_t ConcatenatedInputs::CountsAt() const { return (kPointer + 2 * index) * inputs; }

void ConcatenatedInputs::ClearShape(std::byte* shape) const {
  Zero(shape, index, dimensions, kShapeDimensions);
  Zero(shape + kShapeDimensions * index, index, dimensions, kShapeDimensions);
}

std::size_t ConcatenatedInputs::BytesOfShape() const { return 2 * kShapeDimensions * index; }

TensorLists TorchLists(std::size_t depth, std::size_t extra, bool has_scalars,
                       ArgumentSpace space) {
  constexpr std::size_t kComplexDouble = 16;
  const bool large = space == ArgumentSpace::kLarge;
  std::size_t tensors = large ? kTensorsLarge[depth - 1] : kTensorsSmall[depth - 1];
  // Lists with scalars are shorter.
  if (has_scalars && depth == 1) {
    tensors = extra == kComplexDouble ? (large ? 504 : 72) : (large ? 672 : 96);
  } else if (has_scalars && depth == 2 && extra == kComplexDouble) {
    tensors = large ? 420 : 60;
  }
  return {.depth = depth,
          .tensors = tensors,
          .extra = extra,
          .has_scalars = has_scalars,
          .blocks = large ? TensorLists::kBlocks : TensorLists::kBlocksSmall,
          .tensor_index_bytes = large ? kTensorIndex : 1};
}

TensorLists ApexLists(std::size_t depth, std::size_t count_bytes) {
  return {.depth = depth,
          .tensors = kTensorsSmall[depth - 1],
          .blocks = TensorLists::kBlocksSmall,
          .count_bytes = count_bytes,
          .tensor_index_bytes = 1};
}

std::optional<TensorLists> FindTensorLists(std::string_view name, std::size_t bytes) {
  const bool scalars = name.find("TensorListScalarListMetadataI") != std::string_view::npos;
  const bool fused = name.find("FusedOptimizerTensorListMetadataI") != std::string_view::npos;
  const auto depth =
      FirstInteger(Behind(name, scalars ? "TensorListScalarListMetadataI" : "TensorListMetadataI"));
  if (!depth || *depth < 1 || *depth > TensorLists::kDepthMax) return std::nullopt;
  if (!scalars) {
    const std::size_t extra = fused ? kPointer : 0;
    for (TensorLists lists : {TorchLists(*depth, extra, false, ArgumentSpace::kLarge),
                              TorchLists(*depth, extra, false, ArgumentSpace::kSmall),
                              ApexLists(*depth, 8), ApexLists(*depth, 4)}) {
      if (RoundedUp(lists.BytesOfTables() + kFirstTensor) != bytes) continue;
      // The lists of fused optimizers have the number, too, but neither host nor kernel use it.
      lists.has_first_tensor = !fused;
      lists.padding = bytes - lists.BytesOfTables() - (fused ? 0 : kFirstTensor);
      return lists;
    }
    return std::nullopt;
  }
  for (const std::size_t scalar : {4, 8, 16}) {
    for (const auto space : {ArgumentSpace::kLarge, ArgumentSpace::kSmall}) {
      const TensorLists lists = TorchLists(*depth, scalar, true, space);
      if (RoundedUp(lists.BytesOfTables()) == bytes) return lists;
    }
  }
  return std::nullopt;
}

std::optional<ConcatenatedInputs> FindConcatenatedInputs(std::string_view name, std::size_t bytes) {
  if (name.find("CatArrayBatchedCopy") == std::string_view::npos) return std::nullopt;
  for (const auto& [symbol, index] : {std::pair('j', 4u), std::pair('m', 8u), std::pair('l', 8u)}) {
    // <type, index type, dimensions, inputs, structures of sizes and strides>
    for (std::size_t at = name.find(symbol); at != std::string_view::npos;
         at = name.find(symbol, at + 1)) {
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
