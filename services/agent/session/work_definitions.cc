#include "services/agent/session/work_definitions.h"

#include <algorithm>

#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

namespace {

// Number of records that the scout looks ahead of a stalled one.
constexpr int kScoutLimit = 1 << 16;

}  // namespace

base::Result<void> WorkDefinitions::Define(const ring::RecordView& record, std::uint64_t position) {
  const auto& define = record.As<wire::DefineWork>();
  if (entries_.Find(define.work) != nullptr) {
    if (position < scouted_) return {};
    return base::Fail(base::ErrorCode::kCorrupt,
                      base::StrCat("define work record: work ", define.work, " exists already"));
  }
  const auto tail = record.TailAfter<wire::DefineWork>();
  const std::size_t padded = (std::size_t{define.definition_bytes} + 7) & ~std::size_t{7};
  const auto replay = tail.subspan(std::min(padded, tail.size()));
  entries_.Insert(define.work, host_->costs().Intern(tail.first(define.definition_bytes), replay));
  return {};
}

void WorkDefinitions::Scout(ring::Reader* reader, std::uint64_t position) {
  std::uint64_t at = std::max(scouted_, position);
  for (int i = 0; i < kScoutLimit; ++i) {
    const auto record = reader->Read(&at);
    if (!record.has_value() || !record->has_value()) break;
    if ((*record)->header().kind != wire::RecordKind::kDefineWork) continue;
    if (!Define(**record, at)) break;
  }
  scouted_ = at;
}

}  // namespace eidolon::agent::session
