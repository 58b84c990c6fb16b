// Operations are resolved in any order but lie by sequence number, so an entry may be empty for a
// while. Three limits meet here: before the first wanted iteration the oldest entries make room,
// within the window new ones are left out, and after it nothing is taken. DropBefore moves every
// list to the same boundary, while HasRoom shortens one list alone. The last memory use of each
// device survives it, because it says what is booked when the rest begins.
#include "services/agent/timeline/recorder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "services/contract/ring/python_line.h"

namespace eidolon::agent::timeline {

using base::SimTime;

namespace {

// Kept before the first wanted iteration is known, whatever the rule: some optimizers are told from
// layers after four iterations only.
constexpr std::uint64_t kKeptMin = 200'000;
// Ranges that a program opened and never closes.
constexpr std::size_t kOpenRangesMax = 10'000;

// Returns whether an event lies before the place between two operations. A call there belongs
// behind it.
bool IsBefore(const HostEvent& event, std::uint64_t sequence) {
  return event.sequence < sequence || (event.sequence == sequence && event.operations == 0);
}
bool IsBefore(const Range& range, std::uint64_t sequence) { return range.sequence <= sequence; }
bool IsBefore(const MemoryUse& use, std::uint64_t sequence) { return use.sequence <= sequence; }

template <typename Event>
void DropEvents(std::deque<Event>* events, std::uint64_t sequence) {
  while (!events->empty() && IsBefore(events->front(), sequence)) events->pop_front();
}

}  // namespace

std::size_t Recorder::events_max() const { return 2 * std::max(rule_.operations_max, kKeptMin); }

// Events of the host come in program order, so that they are bounded like operations are.
template <typename Event>
bool Recorder::HasRoom(std::deque<Event>* events) {
  if (is_done_) return false;
  if (events->size() < events_max()) return true;
  if (is_in_window()) return false;
  events->erase(events->begin(), events->begin() + static_cast<std::ptrdiff_t>(events->size() / 4));
  return true;
}

void Recorder::NoteCall(HostCall call, const iteration::Mark& mark, std::uint32_t operations) {
  const SimTime begin = std::min(host_, mark.host_clock);
  host_ = std::max(host_, mark.host_clock);
  if (!HasRoom(&events_)) return;
  events_.push_back({.call = call,
                     .begin = begin,
                     .end = mark.host_clock,
                     .sequence = mark.sequence,
                     .operations = operations,
                     .line = line_});
}

void Recorder::NoteWait(HostCall call, SimTime asked, const iteration::Mark& told,
                        std::uint32_t line) {
  host_ = std::max(host_, told.host_clock);
  if (told.host_clock <= asked || !HasRoom(&events_)) return;
  events_.push_back({.call = call,
                     .begin = asked,
                     .end = told.host_clock,
                     .sequence = told.sequence,
                     .operations = 0,
                     .line = line});
}

void Recorder::DefineLine(std::uint64_t number, std::string text) {
  if (number == 0 || number > ring::kMostPythonLines) return;
  lines_.insert_or_assign(static_cast<std::uint32_t>(number), std::move(text));
}

void Recorder::SetLine(std::uint64_t number) {
  line_ = number <= ring::kMostPythonLines ? static_cast<std::uint32_t>(number) : 0;
}

const std::string* Recorder::LineOf(const HostEvent& event) const {
  const auto found = lines_.find(event.line);
  return found == lines_.end() ? nullptr : &found->second;
}

void Recorder::OpenRange(std::uint64_t id, std::string_view name, SimTime at) {
  if (is_done_ || nested_.size() + open_.size() >= kOpenRangesMax) return;
  Range range{.name = std::string(name), .begin = at, .end = at};
  if (id == 0) {
    nested_.push_back(std::move(range));
  } else {
    open_.insert_or_assign(id, std::move(range));
  }
}

void Recorder::CloseRange(std::uint64_t id, const iteration::Mark& mark) {
  std::optional<Range> range;
  if (id != 0) {
    auto found = open_.extract(id);
    if (!found.empty()) range = std::move(found.mapped());
  } else if (!nested_.empty()) {
    range = std::move(nested_.back());
    nested_.pop_back();
  }
  if (!range.has_value() || !HasRoom(&ranges_)) return;
  range->end = std::max(range->begin, mark.host_clock);
  range->sequence = mark.sequence;
  ranges_.push_back(std::move(*range));
}

void Recorder::NoteMemory(MemoryUse use) {
  use.order = memory_order_++;
  if (HasRoom(&memory_)) memory_.push_back(use);
}

MemoryRoom Recorder::RoomOfParts() const {
  return {.most = events_max(), .forgets_oldest = !is_in_window()};
}

void Recorder::NoteBlock(const ::eidolon::ring::MemoryBlockRecord& block,
                         const iteration::Mark& mark) {
  if (is_done_) return;
  const MemoryMoment moment{
      .at = mark.host_clock, .sequence = mark.sequence, .order = memory_order_++};
  parts_.NoteBlock(block, moment, RoomOfParts());
}

void Recorder::NoteTensors(std::uint16_t device,
                           std::span<const ::eidolon::ring::OptimizerTensor> tensors,
                           std::uint64_t sequence) {
  if (is_done_) return;
  for (const auto& tensor : tensors) {
    parts_.NoteTensor(device, tensor, sequence, RoomOfParts());
  }
}

void Recorder::NoteOperation(const device::ResolvedOp& op) {
  if (is_done_ || op.sequence < first_) return;
  const std::uint64_t kept_max =
      is_in_window() ? rule_.operations_max : std::max(2 * rule_.operations_max, kKeptMin);
  if (op.sequence - first_ >= kept_max) {
    if (is_in_window()) return;
    DropBefore(std::max(first_ + operations_.size() / 4,
                        op.sequence + 1 - std::min(op.sequence + 1, kept_max)));
  }
  const std::uint64_t offset = op.sequence - first_;
  if (offset >= operations_.size()) operations_.resize(offset + 1);
  operations_[offset] = {.ready = op.ready,
                         .start = op.start,
                         .finish = op.finish,
                         .released_by = op.released_by,
                         .stream = op.stream,
                         .tag = op.tag,
                         .device = op.device,
                         .kind = op.kind,
                         .host_bound = op.host_bound,
                         .is_resolved = true};
}

void Recorder::NoteCollective(const device::ResolvedOp& op, Collective collective) {
  NoteOperation(op);
  if (Find(op.sequence) != nullptr) collectives_[op.sequence] = std::move(collective);
}

void Recorder::DropBefore(std::uint64_t sequence) {
  if (sequence <= first_) return;
  const auto count = std::min<std::uint64_t>(sequence - first_, operations_.size());
  operations_.erase(operations_.begin(), operations_.begin() + static_cast<std::ptrdiff_t>(count));
  first_ = sequence;
  collectives_.erase(collectives_.begin(), collectives_.lower_bound(sequence));
  DropEvents(&events_, sequence);
  DropEvents(&ranges_, sequence);
  parts_.DropBefore(sequence);
  // The last one of each device says what is booked when the rest begins.
  std::map<std::uint16_t, MemoryUse> last;
  while (!memory_.empty() && IsBefore(memory_.front(), sequence)) {
    last[memory_.front().device] = memory_.front();
    memory_.pop_front();
  }
  for (const auto& [device, use] : last) memory_.push_front(use);
}

void Recorder::EndIteration(const iteration::Report& report) {
  if (is_done_) return;
  next_index_ = report.index + 1;
  if (report.index < rule_.first) {
    unwanted_ = report.sequence_end;
    DropBefore(unwanted_);
    return;
  }
  windows_.push_back({.index = report.index,
                      .first = report.sequence_begin,
                      .end = report.sequence_end,
                      .start = report.start,
                      .finish = report.end});
  is_done_ = next_index_ >= rule_.first + rule_.iterations;
}

void Recorder::Close(std::uint64_t end, SimTime at) {
  is_done_ = true;
  if (windows_.empty()) {
    windows_.push_back(
        {.index = std::nullopt, .first = unwanted_, .end = end, .start = {}, .finish = at});
  }
  // Operations may have run ahead into the next iteration.
  const std::uint64_t last = windows_.back().end;
  const std::uint64_t shown = std::max(first_, windows_.front().first) + rule_.operations_max;
  const std::uint64_t kept = std::max(first_, std::min({last, shown, first_ + operations_.size()}));
  operations_.resize(kept - first_);
  const auto is_behind = [last](const auto& event) { return !IsBefore(event, last); };
  std::erase_if(events_, is_behind);
  std::erase_if(ranges_, is_behind);
  std::erase_if(memory_, is_behind);
}

const Operation* Recorder::Find(std::uint64_t sequence) const {
  if (sequence < first_ || sequence - first_ >= operations_.size()) return nullptr;
  const Operation& found = operations_[sequence - first_];
  return found.is_resolved ? &found : nullptr;
}

const Collective* Recorder::FindCollective(std::uint64_t sequence) const {
  const auto found = collectives_.find(sequence);
  return found == collectives_.end() ? nullptr : &found->second;
}

std::uint64_t Recorder::CountLeftOut() const {
  std::uint64_t missing = 0;
  for (const Window& window : windows_) {
    missing += window.end - window.first;
    const std::uint64_t begin = std::max(window.first, first_);
    const std::uint64_t end = std::min(window.end, first_ + operations_.size());
    for (std::uint64_t sequence = begin; sequence < end; ++sequence) {
      missing -= Find(sequence) != nullptr ? 1 : 0;
    }
  }
  return missing;
}

}  // namespace eidolon::agent::timeline
