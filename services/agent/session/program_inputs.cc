#include "services/agent/session/program_inputs.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using wire::CommunicationKind;

namespace {

constexpr std::size_t kMost = 100'000;  // Of each kind, while no iteration is reported.
// Fewer bytes for each sample are of something else: a loss, a flag, a router's counts.
constexpr std::uint64_t kRowBytesMin = 32;

template <typename T>
void Keep(std::deque<T>& list, const T& added) {
  list.push_back(added);
  if (list.size() > kMost) list.pop_front();
}

template <typename T>
void DropBefore(std::deque<T>& list, std::uint64_t end) {
  while (!list.empty() && list.front().sequence < end) list.pop_front();
}

// All calls of one module in an iteration.
struct Sum {
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;
  std::uint64_t matrix_flops = 0;
  bool samples_known = true;
  bool tokens_known = true;
  bool exchanges_rows = false;
};

// Gathers are not among these: with them shards of parameters arrive.
bool MovesRows(CommunicationKind kind) {
  return kind == CommunicationKind::kAllReduce || kind == CommunicationKind::kReduceScatter ||
         kind == CommunicationKind::kReduce || kind == CommunicationKind::kSend ||
         kind == CommunicationKind::kReceive;
}

}  // namespace

void ProgramInputs::Note(std::uint64_t sequence, const wire::InputsRecord& record) {
  switch (record.kind) {
    case wire::InputKind::kCall:
      Keep(calls_, {.sequence = sequence,
                    .module = record.source,
                    .samples = record.samples,
                    .tokens = record.tokens});
      in_call_ = true;
      break;
    case wire::InputKind::kCallEnd:
      in_call_ = false;
      break;
    case wire::InputKind::kBatch:
      Keep(batches_, {.sequence = sequence, .loader = record.source, .samples = record.samples});
      break;
    case wire::InputKind::kSharedSequences:
    case wire::InputKind::kCount:
      shares_sequences_ = true;
      break;
  }
}

void ProgramInputs::NoteWork(const iteration::WorkCounts& counts) {
  if (in_call_) calls_.back().matrix_flops += counts.matrix_flops;
}

void ProgramInputs::NoteCalls(std::uint64_t sequence, std::uint32_t size,
                              std::span<const wire::CommunicationOp> ops) {
  if (size < 2) return;
  for (const wire::CommunicationOp& op : ops) {
    if (in_call_) {
      Call& call = calls_.back();
      const std::uint64_t rows = std::max<std::uint64_t>(call.samples, 1);
      call.exchanges_rows |= MovesRows(op.kind) && op.bytes / kRowBytesMin >= rows;
    } else if (op.kind == CommunicationKind::kReceive) {
      Keep(receives_, sequence);
    }
  }
}

std::uint64_t ProgramInputs::BatchOf(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> loader;
  bool is_known = true;
  for (const Batch& batch : batches_) {
    if (batch.sequence < begin || batch.sequence >= end) continue;
    is_known = is_known && batch.samples > 0 && loader.value_or(batch.loader) == batch.loader;
    loader = batch.loader;
    samples += batch.samples;
  }
  DropBefore(batches_, end);
  return is_known ? samples : 0;
}

std::optional<iteration::Inputs> ProgramInputs::Take(std::uint64_t begin, std::uint64_t end) {
  std::map<std::uint64_t, Sum> modules;
  std::uint64_t first = end;
  for (const Call& call : calls_) {
    if (call.sequence < begin || call.sequence >= end) continue;
    first = std::min(first, call.sequence);
    Sum& sum = modules[call.module];
    sum.samples += call.samples;
    sum.tokens += call.tokens;
    sum.matrix_flops += call.matrix_flops;
    sum.samples_known = sum.samples_known && call.samples > 0;
    sum.tokens_known = sum.tokens_known && call.tokens > 0;
    sum.exchanges_rows |= call.exchanges_rows;
  }
  // The last call may still be open: what follows belongs to it.
  const std::uint64_t kept = in_call_ && !calls_.empty() ? calls_.back().sequence : end;
  DropBefore(calls_, std::min(end, kept));
  bool receives_first = false;
  while (!receives_.empty() && receives_.front() < end) {
    receives_first |= receives_.front() >= begin && receives_.front() < first;
    receives_.pop_front();
  }
  const std::uint64_t batch = BatchOf(begin, end);
  const auto model = std::ranges::max_element(
      modules, {}, [](const auto& module) { return module.second.matrix_flops; });
  if (model == modules.end() || model->second.matrix_flops == 0) return std::nullopt;
  const Sum& sum = model->second;
  return iteration::Inputs{.samples = sum.samples_known ? sum.samples : 0,
                           .tokens = sum.tokens_known ? sum.tokens : 0,
                           .batch = batch,
                           .is_later_stage = receives_first,
                           .is_clear = !sum.exchanges_rows && !shares_sequences_};
}

}  // namespace eidolon::agent::session
