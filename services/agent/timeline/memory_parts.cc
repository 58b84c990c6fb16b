// Nothing says what a block of memory is for when it is allocated; the optimizer's lists and the
// backward pass show it later. So blocks carry what is learned until they go. Blocks are found by
// the greatest address at or below a tensor's. A tensor that reaches beyond its block is left out.
// The limit on tensors counts those in all blocks, so each way out of a table must give them back.
#include "services/agent/timeline/memory_parts.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <type_traits>

namespace eidolon::agent::timeline {

using ::eidolon::ring::TensorRole;

MemoryPart operator+(const MemoryPart& a, const MemoryPart& b) {
  return {.parameters = a.parameters + b.parameters,
          .gradients = a.gradients + b.gradients,
          .optimizer_state = a.optimizer_state + b.optimizer_state,
          .activations = a.activations + b.activations};
}

MemoryPart operator-(const MemoryPart& a, const MemoryPart& b) {
  return {.parameters = a.parameters - b.parameters,
          .gradients = a.gradients - b.gradients,
          .optimizer_state = a.optimizer_state - b.optimizer_state,
          .activations = a.activations - b.activations};
}

void MemoryParts::NoteBlock(const ::eidolon::ring::MemoryBlockRecord& record,
                            const MemoryMoment& moment, const MemoryRoom& room) {
  has_blocks_ = true;
  const Place place{record.header.device, record.address};
  if (auto found = there_.extract(place); !found.empty()) {
    found.mapped().is_activation = record.is_activation != 0;
    found.mapped().gone = moment;
    End(std::move(found.mapped()), room);
  }
  if (record.bytes <= 0 || there_.size() >= kBlocksMax) return;
  there_.emplace(place, Block{.place = place,
                              .bytes = static_cast<std::uint64_t>(record.bytes),
                              .taken = moment,
                              .gone = {},
                              .tensors = {}});
}

void MemoryParts::End(Block block, const MemoryRoom& room) {
  const bool is_shown = block.is_activation || !block.tensors.empty();
  if (!is_shown || !HasRoom(&gone_, room)) {
    tensors_ -= block.tensors.size();
  } else {
    gone_.push_back(std::move(block));
  }
}

template <typename Kept>
bool MemoryParts::HasRoom(std::deque<Kept>* kept, const MemoryRoom& room) {
  if (kept->size() < room.most) return true;
  if (!room.forgets_oldest) return false;
  for (std::size_t i = kept->size() / 4; i-- > 0;) {
    if constexpr (std::is_same_v<Kept, Block>) tensors_ -= kept->front().tensors.size();
    kept->pop_front();
  }
  return true;
}

void MemoryParts::NoteTensor(std::uint16_t device, const ::eidolon::ring::OptimizerTensor& tensor,
                             std::uint64_t sequence, const MemoryRoom& room) {
  const Place place{device, tensor.address};
  const Tensor noted{.bytes = tensor.bytes, .role = tensor.role};
  if (HasRoom(&uses_, room)) {
    uses_.push_back({.sequence = sequence, .place = place, .tensor = noted});
  }
  const auto behind = there_.upper_bound(place);
  if (behind == there_.begin()) return;
  Block& block = std::prev(behind)->second;
  const std::uint64_t offset = tensor.address - block.place.second;
  if (block.place.first != device || offset >= block.bytes) return;
  if (tensor.bytes > block.bytes - offset) return;  // It lies elsewhere, too.
  if (!block.tensors.contains(tensor.address)) {
    if (tensors_ == kTensorsMax) return;
    ++tensors_;
  }
  block.tensors.insert_or_assign(tensor.address, noted);
}

void MemoryParts::DropBefore(std::uint64_t sequence) {
  while (!gone_.empty() && gone_.front().gone.sequence <= sequence) {
    tensors_ -= gone_.front().tensors.size();
    gone_.pop_front();
  }
  while (!uses_.empty() && uses_.front().sequence < sequence) uses_.pop_front();
}

// Checks that uses fit, as the report demands it.
bool MemoryParts::UsesFit(std::uint64_t first, std::uint64_t end) const {
  std::set<std::tuple<std::uint64_t, Place, TensorRole>> seen;
  std::uint64_t parameters = 0;
  std::uint64_t gradients = 0;
  for (const Use& use : uses_) {
    if (use.sequence < first || use.sequence >= end) continue;
    if (!seen.emplace(use.tensor.bytes, use.place, use.tensor.role).second) continue;
    if (use.tensor.role == TensorRole::kParameter) parameters += use.tensor.bytes;
    if (use.tensor.role == TensorRole::kGradient) gradients += use.tensor.bytes;
  }
  return parameters == gradients;
}

MemoryPart MemoryParts::PartOf(const Block& block, bool with_tensors) {
  MemoryPart part;
  if (with_tensors) {
    for (const auto& [address, tensor] : block.tensors) {
      const auto bytes = static_cast<std::int64_t>(tensor.bytes);
      switch (tensor.role) {
        case TensorRole::kParameter:
          part.parameters += bytes;
          break;
        case TensorRole::kGradient:
          part.gradients += bytes;
          break;
        default:
          part.optimizer_state += bytes;
      }
    }
  }
  if (block.is_activation) {
    const std::int64_t left = static_cast<std::int64_t>(block.bytes) - part.sum();
    part.activations = std::max<std::int64_t>(left, 0);
  }
  return part;
}

std::vector<MemoryParts::Change> MemoryParts::Changes(std::uint64_t first,
                                                      std::uint64_t end) const {
  const bool fit = UsesFit(first, end);
  std::vector<Change> changes;
  const auto add = [&](const Block& block, bool has_gone) {
    const MemoryPart part = PartOf(block, fit);
    if (part == MemoryPart{} || block.taken.sequence > end) return;
    changes.push_back({.device = block.place.first, .moment = block.taken, .added = part});
    if (!has_gone || block.gone.sequence > end) return;
    changes.push_back(
        {.device = block.place.first, .moment = block.gone, .added = MemoryPart{} - part});
  };
  for (const Block& block : gone_) add(block, true);
  for (const auto& [place, block] : there_) add(block, false);
  std::ranges::sort(changes, {}, [](const Change& change) { return change.moment.order; });
  return changes;
}

}  // namespace eidolon::agent::timeline
