// Arbitrary bytes as the content of a ring: the reader says what is damaged, and never crashes. The
// first byte says which records get the check they need to be taken for a shim's: all, or those
// before the n-th.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "services/agent/ring/reader.h"
#include "services/agent/ring/record_check.h"
#include "services/agent/ring/segment.h"
#include "services/base/check.h"
#include "services/contract/ring/check.h"
#include "services/contract/workload/definition.h"

namespace eidolon::agent::ring {
namespace {

Segment& FuzzSegment() {
  static Segment segment = *Segment::Create({.devices = {{}, {}}}, 1, 0);
  return segment;
}

// Goes along the records as far as their sizes are sound.
void GiveChecks(char* ring, std::size_t size, int records) {
  for (std::size_t at = 0; records > 0 && at + sizeof(wire::RecordHeader) <= size; --records) {
    wire::RecordHeader header;
    std::memcpy(&header, ring + at, sizeof(header));
    if (header.bytes < sizeof(header) || header.bytes % 8 != 0 || header.bytes > size - at) return;
    const std::uint64_t check = wire::RecordCheck(at, ring + at, header.bytes);
    std::memcpy(ring + at + offsetof(wire::RecordHeader, check), &check, sizeof(check));
    at += header.bytes;
  }
}

void Use(const RecordView& record) {
  if (record.header().kind == wire::RecordKind::kDefineWork) {
    const auto& define = record.As<wire::DefineWork>();
    const auto definition = record.TailAfter<wire::DefineWork>().first(define.definition_bytes);
    CHECK(workload::DisplayName(definition).size() <= definition.size() + 64);
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
  if (size == 0 || size > wire::kRingBytes) return 0;
  const int records = data[0] < 128 ? static_cast<int>(size) : data[0] - 128;
  ++data;
  --size;
  void* base = FuzzSegment().base();
  if (size > 0) std::memcpy(wire::RingOf(base), data, size);
  GiveChecks(wire::RingOf(base), size, records);
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
