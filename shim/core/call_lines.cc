#include "shim/core/call_lines.h"

#include <span>
#include <utility>

#include "services/contract/ring/python_line.h"
#include "services/contract/ring/record.h"
#include "shim/core/python_line.h"
#include "shim/core/ring_writer.h"

namespace eidolon::shim::core {
namespace {

// Places of the program that are remembered.
constexpr std::size_t kPlacesMax = 1 << 16;

}  // namespace

// Requires: mutex_ held.
std::uint32_t CallLines::NumberOf(std::string line, RingWriter& writer) {
  if (line.empty()) return ring::kNoPythonLine;
  const auto found = numbers_.find(line);
  if (found != numbers_.end()) return found->second;
  if (numbers_.size() == ring::kMostPythonLines) return ring::kNoPythonLine;
  const auto number = static_cast<std::uint32_t>(numbers_.size() + 1);
  const std::string& kept = numbers_.emplace(std::move(line), number).first->first;
  ring::MarkRecord record{};
  record.header.kind = ring::RecordKind::kPythonLine;
  record.id = number;
  record.name_bytes = static_cast<std::uint32_t>(kept.size());
  const std::span<const std::byte> text[] = {std::as_bytes(std::span(kept))};
  writer.Append(&record.header, sizeof(record), text);
  return number;
}

std::optional<std::uint32_t> CallLines::QuickNumber(RingWriter& writer) {
  PythonFrames* const frames = ProgramFrames();
  if (frames == nullptr) return std::nullopt;
  const void* const thread = PythonThread();
  if (thread == nullptr) return ring::kNoPythonLine;
  const auto place = frames->Find(thread);
  if (!place) return std::nullopt;
  {
    const std::lock_guard guard(mutex_);
    const auto known = places_.find(*place);
    if (known != places_.end()) return known->second;
  }
  const auto described = frames->Describe(*place);
  if (!described) return std::nullopt;
  // CPython 3.13 exports no text to compare with: types of objects must do.
  std::string text = HasStackText() ? PythonPlace() : *described;
  frames->Compare(*described, text);
  const std::lock_guard guard(mutex_);
  const std::uint32_t number = NumberOf(std::move(text), writer);
  if (places_.size() < kPlacesMax) places_.emplace(*place, number);
  return number;
}

std::uint32_t CallLines::NumberHere(RingWriter& writer) noexcept {
  try {
    if (const auto number = QuickNumber(writer)) return *number;
    std::string line = PythonPlace();
    const std::lock_guard guard(mutex_);
    return NumberOf(std::move(line), writer);
  } catch (...) {  // No memory: the call has no line.
    return ring::kNoPythonLine;
  }
}

}  // namespace eidolon::shim::core
