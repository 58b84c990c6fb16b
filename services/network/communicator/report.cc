// These sentences end up in the report of a deadlock, where a user looks for the rank that is
// missing. They name global ranks, which logs and launchers show, although the tables know members
// by their rank in the communicator. Only a communicator that is still being made has members whose
// global ranks are unknown; they are called "its rank 3".
#include "services/network/communicator/report.h"

#include <algorithm>

#include "services/base/text.h"

namespace eidolon::network::communicator {

using base::StrCat;

namespace {

std::string Named(const std::vector<std::int64_t>& numbers) {
  return StrCat(numbers.size() == 1 ? "rank " : "ranks ", Ranges(numbers));
}

const char* Verb(std::size_t count, const char* one, const char* many) {
  return count == 1 ? one : many;
}

}  // namespace

std::string NameOf(std::uint64_t id, const std::string& name, std::size_t size) {
  const std::string what = name.empty() ? StrCat(id) : StrCat("'", name, "'");
  return StrCat("communicator ", what, " of ", size, size == 1 ? " rank" : " ranks");
}

std::string NameRanks(const std::vector<Member>& members, const std::vector<std::int32_t>& ranks) {
  std::vector<std::int64_t> numbers;
  for (std::int32_t rank : ranks) {
    numbers.push_back(members[static_cast<std::size_t>(rank)].global_rank);
  }
  std::sort(numbers.begin(), numbers.end());
  return Named(numbers);
}

std::string Describe(const CollectiveTable::Incomplete& incomplete,
                     const std::vector<Member>& members) {
  std::string text =
      StrCat("collective ", incomplete.sequence, ", ", Describe(*incomplete.operation), " (",
             incomplete.operation->bytes, " bytes): ");
  bool first = true;
  const auto add = [&](const std::vector<std::int32_t>& ranks, const char* one, const char* many) {
    if (ranks.empty()) return;
    text +=
        StrCat(first ? "" : "; ", NameRanks(members, ranks), " ", Verb(ranks.size(), one, many));
    first = false;
  };
  add(incomplete.waiting, "waits", "wait");
  add(incomplete.behind, "has called it but its stream has not reached it",
      "have called it but their streams have not reached it");
  add(incomplete.missing, "has not called it", "have not called it");
  return text;
}

std::string Describe(const TransferTable::Incomplete& incomplete,
                     const std::vector<Member>& members) {
  const auto name = [&](std::int32_t rank) { return NameRanks(members, {rank}); };
  const Pair& pair = incomplete.pair;
  const std::string sender = name(pair.from);
  const std::string receiver = name(pair.to);
  const std::string partner = incomplete.sender_waits ? receiver : sender;
  const char* verb = incomplete.sender_waits ? "receive" : "send";
  return StrCat("send ", pair.sequence, " of ", incomplete.bytes, " bytes from ", sender, " to ",
                receiver, ": ", incomplete.sender_waits ? sender : receiver, " waits; ", partner,
                incomplete.partner_called
                    ? StrCat(" has called the ", verb, " but its stream has not reached it")
                    : StrCat(" has not called the ", verb));
}

std::string Describe(const std::string& what, const Gathering& gathering,
                     const std::vector<Member>& members) {
  std::vector<std::int64_t> present;
  std::vector<std::int64_t> missing;
  std::string name;
  for (std::size_t rank = 0; rank < gathering.arrivals().size(); ++rank) {
    const auto& arrival = gathering.arrivals()[rank];
    if (arrival) {
      present.push_back(arrival->member.global_rank);
      if (name.empty()) name = arrival->name;
    } else if (!gathering.IsMirrored(rank)) {
      missing.push_back(members.empty() ? static_cast<std::int64_t>(rank)
                                        : members[rank].global_rank);
    }
  }
  std::sort(present.begin(), present.end());
  std::sort(missing.begin(), missing.end());
  // Without a parent only the places in the new communicator are known of those who lack.
  const std::string lacking = members.empty() ? StrCat("its ", Named(missing)) : Named(missing);
  return StrCat(what, name.empty() ? "" : StrCat(" '", name, "'"), " of ",
                gathering.arrivals().size(), " ranks: ", Named(present), " ",
                Verb(present.size(), "waits", "wait"), "; ", lacking, " ",
                Verb(missing.size(), "has", "have"), " not come");
}

}  // namespace eidolon::network::communicator
