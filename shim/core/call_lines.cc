#include "shim/core/call_lines.h"

#include <span>
#include <utility>

#include "services/ring/python_line.h"
#include "services/ring/record.h"
#include "shim/core/python_line.h"
#include "shim/core/ring_writer.h"

namespace eidolon::shim::core {

std::uint32_t CallLines::NumberHere(RingWriter& writer) noexcept {
  try {
    std::string line = PythonPlace();
    if (line.empty()) return ring::kNoPythonLine;
    const std::lock_guard guard(mutex_);
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
  } catch (...) {  // No memory: the call has no line.
    return ring::kNoPythonLine;
  }
}

}  // namespace eidolon::shim::core
