#include "services/contract/critical_path/partners.h"

#include <algorithm>
#include <limits>

namespace eidolon::critical_path {

namespace {

constexpr std::uint64_t kCollective = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Partners::Partners(std::span<const RankTrace> traces) : traces_(traces) {
  for (std::uint32_t number = 0; number < traces.size(); ++number) {
    const RankTrace& trace = traces[number];
    for (const Communication& communication : trace.communication) {
      const OperationPlace place{.trace = number, .operation = communication.operation};
      if (communication.transfers == 0) entries_.push_back({NameOf(communication), place});
      for (std::uint32_t i = 0; i < communication.transfers; ++i) {
        const Transfer& transfer = trace.transfers[communication.first_transfer + i];
        entries_.push_back({NameOf(communication, transfer), place});
      }
    }
  }
  std::ranges::stable_sort(entries_, {}, &Entry::name);
}

Partners::Name Partners::NameOf(const Communication& communication) {
  return {.communicator = communication.communicator,
          .sequence = communication.call,
          .pair = kCollective,
          .side = 0};
}

Partners::Name Partners::NameOf(const Communication& communication, const Transfer& transfer) {
  const auto own = static_cast<std::uint32_t>(communication.member);
  const auto peer = static_cast<std::uint32_t>(transfer.peer);
  const bool is_send = transfer.is_send != 0;
  const std::uint64_t from = is_send ? own : peer;
  const std::uint64_t to = is_send ? peer : own;
  return {.communicator = communication.communicator,
          .sequence = transfer.sequence,
          .pair = from << 32 | to,
          .side = is_send ? 1u : 0u};
}

std::span<const Partners::Entry> Partners::AllOf(const Name& name) const {
  const auto found = std::ranges::equal_range(entries_, name, {}, &Entry::name);
  return {found.begin(), found.end()};
}

const Communication* Partners::Find(const OperationPlace& place) const {
  const auto& all = traces_[place.trace].communication;
  const auto found = std::ranges::lower_bound(all, place.operation, {}, &Communication::operation);
  return found == all.end() || found->operation != place.operation ? nullptr : &*found;
}

void Partners::List(const OperationPlace& place, std::vector<OperationPlace>* partners) const {
  partners->clear();
  const Communication* own = Find(place);
  if (own == nullptr) return;
  if (own->transfers == 0) {
    for (const Entry& entry : AllOf(NameOf(*own))) partners->push_back(entry.place);
    return;
  }
  partners->push_back(place);
  for (std::uint32_t i = 0; i < own->transfers; ++i) {
    Name other = NameOf(*own, traces_[place.trace].transfers[own->first_transfer + i]);
    other.side = 1 - other.side;
    for (const Entry& entry : AllOf(other)) partners->push_back(entry.place);
  }
}

}  // namespace eidolon::critical_path
