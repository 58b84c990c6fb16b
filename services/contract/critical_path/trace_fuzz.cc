// Any bytes as traces of ranks: refused with a sentence, or walked. Whatever they say, the parts of
// the path are the iteration.
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/check.h"
#include "services/contract/critical_path/summary.h"
#include "services/contract/critical_path/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon;
  const auto traces = critical_path::Parse(std::as_bytes(std::span(data, size)));
  if (!traces) {
    CHECK(!traces.error().message.empty());
    return 0;
  }
  if (traces->empty()) return 0;
  const critical_path::Summary summary = critical_path::Summarise(*traces);
  base::Duration kinds;
  for (const critical_path::KindTime& kind : summary.kinds) kinds += kind.time;
  base::Duration ranks;
  for (const critical_path::RankTime& rank : summary.ranks) ranks += rank.time;
  CHECK(kinds == summary.length && ranks == summary.length);
  return 0;
}
