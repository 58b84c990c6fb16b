// The functions that the core exports for lib/eidolon/folded/gloo.so, which has no session of its
// own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "services/contract/ring/call_site.h"
#include "services/contract/ring/record.h"
#include "shim/core/python_line.h"
#include "shim/core/session.h"

#define EIDOLON_GLOO_EXPORT extern "C" __attribute__((visibility("default")))

// A collective of Gloo got values of mirrored ranks that follow from no rule.
EIDOLON_GLOO_EXPORT void eidolon_note_guessed_values(const char* where) {
  namespace ring = eidolon::ring;
  auto* const session = eidolon::shim::core::Session::Existing();
  if (session == nullptr) return;
  const std::string_view text = std::string_view(where).substr(0, ring::kCallSiteBytesMax);
  ring::MarkRecord record{};
  record.header.kind = ring::RecordKind::kGuessedValues;
  record.name_bytes = static_cast<std::uint32_t>(text.size());
  const std::span<const std::byte> tail = std::as_bytes(std::span(text));
  session->Append(&record.header, sizeof(record), {&tail, 1});
}

// Returns whether this function of PyTorch is among the innermost frames of the calling thread.
EIDOLON_GLOO_EXPORT int eidolon_torch_runs(const char* function) {
  return eidolon::shim::core::TorchRuns({function}) ? 1 : 0;
}

// The innermost line of the program on the calling thread; how many bytes it has.
EIDOLON_GLOO_EXPORT std::size_t eidolon_line_of_thread(char* text, std::size_t bytes) {
  const std::string line = eidolon::shim::core::PythonLine();
  const std::size_t fitting = std::min(bytes, line.size());
  std::memcpy(text, line.data(), fitting);
  return fitting;
}
