// Arbitrary bytes as the content of a ring: the reader says what is damaged, and never crashes.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "services/agent/ring/definition.h"
#include "services/agent/ring/reader.h"
#include "services/agent/ring/record_check.h"
#include "services/agent/ring/segment.h"
#include "services/base/check.h"

namespace eidolon::agent::ring {
namespace {

Segment& FuzzSegment() {
  static Segment segment = *Segment::Create({.devices = {{}, {}}}, 1, 0);
  return segment;
}

void Use(const RecordView& record) {
  if (record.header().kind == wire::RecordKind::kDefineWork) {
    const auto& define = record.As<wire::DefineWork>();
    const auto definition = record.TailAfter<wire::DefineWork>().first(define.definition_bytes);
    CHECK(DisplayName(definition).size() <= definition.size() + 64);
  }
  if (record.header().kind == wire::RecordKind::kRangePush) {
    const auto name = NameAfter(record.As<wire::MarkRecord>());
    CHECK(std::memchr(name.data(), 0, 0) == nullptr);
  }
}

}  // namespace
}  // namespace eidolon::agent::ring

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::agent::ring;
  if (size > wire::kRingBytes) return 0;
  void* base = FuzzSegment().base();
  std::memcpy(wire::RingOf(base), data, size);
  auto& cursors = *wire::CursorsOf(base);
  cursors.write_position.value.store(size);
  cursors.read_position.value.store(0);
  Reader reader(base, 2);
  std::uint64_t position = 0;
  while (true) {
    auto record = reader.Read(&position);
    if (!record.has_value() || !record->has_value()) break;
    Use(**record);
    reader.Release(position);
  }
  return 0;
}
