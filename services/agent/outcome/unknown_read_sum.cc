#include "services/agent/outcome/unknown_read_sum.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/agent/outcome/plain_text.h"

namespace eidolon::agent::outcome {
namespace {

constexpr std::size_t kSourcesMax = 64;
constexpr std::size_t kDeclarationsMax = 1024;

}  // namespace

void UnknownReadSum::Add(const session::SessionUsage& used) {
  reads_ += used.unknown_reads;
  for (const auto& [number, reads] : used.unknown_sources) {
    const ::eidolon::ring::UnknownSource& source = reads.source;
    Amount& amount =
        sources_[{source.writer, source.pointer, source.line, source.given, reads.declaration}];
    amount.reads += reads.reads;
    amount.bytes += reads.bytes;
    if (reads.declaration != 0 && declarations_.size() < kDeclarationsMax) {
      declarations_.insert(reads.declaration);
    }
  }
}

void UnknownReadSum::Fill(controller::v1::Usage* usage) const {
  usage->set_unknown_reads(reads_);
  std::vector<std::pair<Source, Amount>> sorted(sources_.begin(), sources_.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.reads > b.second.reads; });
  if (sorted.size() > kSourcesMax) sorted.resize(kSourcesMax);
  for (const auto& [source, amount] : sorted) {
    controller::v1::UnknownReadSource* out = usage->add_unknown_read_sources();
    out->set_writer(PlainText(std::get<0>(source)));
    out->set_pointer(std::get<1>(source));
    out->set_line(PlainText(std::get<2>(source)));
    out->set_given(PlainText(std::get<3>(source)));
    out->set_declaration(std::get<4>(source));
    out->set_reads(amount.reads);
    out->set_bytes(amount.bytes);
  }
  for (const std::uint32_t declaration : declarations_) usage->add_used_declarations(declaration);
}

}  // namespace eidolon::agent::outcome
