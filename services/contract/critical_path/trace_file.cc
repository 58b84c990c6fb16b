// An agent writes the structs as they lie in memory, which needs no code for each field. Hence none
// of them may have padding (the assertions), and a change of one needs a new magic. The reader is
// another process that must not trust the file: Check tests every position, kind and order once,
// and the walk then indexes without tests. A count is compared with the bytes that are left before
// memory is taken for it.
#include "services/contract/critical_path/trace_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "services/base/text.h"

namespace eidolon::critical_path {

using base::SimTime;

namespace {

constexpr std::array<char, 8> kMagic = {'E', 'I', 'D', 'P', 'A', 'T', 'H', '2'};
constexpr std::uint32_t kWholeProgram = std::numeric_limits<std::uint32_t>::max();

struct Head {
  std::array<char, 8> magic = kMagic;
  std::int32_t rank = 0;
  std::uint32_t iteration = kWholeProgram;
  SimTime start;
  SimTime finish;
  std::uint64_t left_out = 0;
  std::uint64_t launch_gaps = 0;
  std::uint64_t operations = 0;
  std::uint64_t host_events = 0;
  std::uint64_t communication = 0;
  std::uint64_t transfers = 0;
  std::uint64_t links = 0;
  std::uint64_t names = 0;
};

// Files hold these as they lie in memory, so none has bytes that nobody sets.
static_assert(std::has_unique_object_representations_v<Head>);
static_assert(std::has_unique_object_representations_v<Operation> && sizeof(Operation) == 40);
static_assert(std::has_unique_object_representations_v<HostEvent>);
static_assert(std::has_unique_object_representations_v<Communication>);
static_assert(std::has_unique_object_representations_v<Transfer>);
static_assert(std::has_unique_object_representations_v<LinkTime>);

template <typename Value>
void Put(std::span<const Value> values, std::ostream* out) {
  const auto bytes = std::as_bytes(values);
  out->write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::unexpected<base::Error> Corrupt(std::string_view what) {
  return base::Fail(base::ErrorCode::kCorrupt,
                    base::StrCat("a trace for the critical path has ", what));
}

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> left) : left_(left) {}

  bool is_empty() const { return left_.empty(); }

  // False when there are not so many.
  template <typename Value>
  bool Take(std::uint64_t count, std::vector<Value>* values) {
    if (count > left_.size() / sizeof(Value)) return false;
    values->resize(count);
    if (count > 0) std::memcpy(values->data(), left_.data(), count * sizeof(Value));
    left_ = left_.subspan(count * sizeof(Value));
    return true;
  }
  bool Take(std::uint64_t count, std::string* text) {
    if (count > left_.size()) return false;
    text->assign(reinterpret_cast<const char*>(left_.data()), count);
    left_ = left_.subspan(count);
    return true;
  }

 private:
  std::span<const std::byte> left_;
};

bool TakeNames(std::uint64_t count, Bytes* bytes, std::vector<std::string>* names) {
  std::vector<std::uint32_t> lengths;
  if (!bytes->Take(count, &lengths)) return false;
  names->resize(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!bytes->Take(lengths[i], &(*names)[i])) return false;
  }
  return true;
}

bool IsSound(const RankTrace& trace, const Operation& operation, std::size_t place) {
  return operation.ready >= SimTime{} && operation.ready <= operation.start &&
         operation.start <= operation.finish && operation.name < trace.names.size() &&
         (operation.released_by <= place || operation.released_by >= kLeftOut) &&
         operation.call <= trace.host_events.size() &&
         operation.device < trace.launch_gaps.size() &&
         static_cast<std::uint8_t>(operation.kind) < kOperationKinds;
}

bool IsSound(const RankTrace& trace, const HostEvent& event) {
  return event.begin >= SimTime{} && event.begin <= event.end && event.name < trace.names.size() &&
         static_cast<std::uint32_t>(event.kind) < kHostEventKinds;
}

bool IsSound(const RankTrace& trace, const Communication& communication) {
  return communication.operation < trace.operations.size() &&
         trace.operations[communication.operation].kind == OperationKind::kCommunication &&
         communication.first_transfer <= trace.transfers.size() &&
         communication.transfers <= trace.transfers.size() - communication.first_transfer &&
         communication.first_link <= trace.links.size() &&
         communication.links <= trace.links.size() - communication.first_link;
}

bool IsSound(const RankTrace& trace, const LinkTime& link) {
  return link.time >= base::Duration{} && static_cast<std::uint32_t>(link.tier) < kLinkTiers &&
         link.link <= trace.names.size();
}

base::Result<void> Check(const RankTrace& trace) {
  if (trace.start < SimTime{} || trace.finish < trace.start) return Corrupt("no length");
  // Places + 1 are numbers of 32 bits.
  if (trace.operations.size() >= kLeftOut - 1) return Corrupt("too many operations");
  for (const base::Duration gap : trace.launch_gaps) {
    if (gap.ps < 0) return Corrupt("a launch gap below 0");
  }
  for (std::size_t place = 0; place < trace.operations.size(); ++place) {
    if (!IsSound(trace, trace.operations[place], place)) return Corrupt("an impossible operation");
  }
  for (const HostEvent& event : trace.host_events) {
    if (!IsSound(trace, event)) return Corrupt("an impossible call or wait");
  }
  for (const Communication& communication : trace.communication) {
    if (!IsSound(trace, communication)) return Corrupt("impossible communication");
  }
  for (const LinkTime& link : trace.links) {
    if (!IsSound(trace, link)) return Corrupt("an impossible time on links");
  }
  const auto unordered = std::ranges::adjacent_find(trace.communication, std::greater_equal(),
                                                    &Communication::operation);
  if (unordered != trace.communication.end()) return Corrupt("communication out of order");
  return {};
}

base::Result<RankTrace> TakeRank(Bytes* bytes) {
  std::vector<Head> heads;
  if (!bytes->Take(1, &heads)) return Corrupt("an incomplete head");
  const Head& head = heads.front();
  if (head.magic != kMagic) return Corrupt("another format");
  RankTrace trace{.rank = head.rank, .start = head.start, .finish = head.finish};
  if (head.iteration != kWholeProgram) trace.iteration = head.iteration;
  trace.left_out = head.left_out;
  const bool is_whole = bytes->Take(head.launch_gaps, &trace.launch_gaps) &&
                        bytes->Take(head.operations, &trace.operations) &&
                        bytes->Take(head.host_events, &trace.host_events) &&
                        bytes->Take(head.communication, &trace.communication) &&
                        bytes->Take(head.transfers, &trace.transfers) &&
                        bytes->Take(head.links, &trace.links) &&
                        TakeNames(head.names, bytes, &trace.names);
  if (!is_whole) return Corrupt("less than its head says");
  if (auto sound = Check(trace); !sound) return std::unexpected(sound.error());
  return trace;
}

}  // namespace

void Write(const RankTrace& trace, std::ostream* out) {
  const Head head{.rank = trace.rank,
                  .iteration = trace.iteration.value_or(kWholeProgram),
                  .start = trace.start,
                  .finish = trace.finish,
                  .left_out = trace.left_out,
                  .launch_gaps = trace.launch_gaps.size(),
                  .operations = trace.operations.size(),
                  .host_events = trace.host_events.size(),
                  .communication = trace.communication.size(),
                  .transfers = trace.transfers.size(),
                  .links = trace.links.size(),
                  .names = trace.names.size()};
  Put(std::span(&head, 1), out);
  Put(std::span(trace.launch_gaps), out);
  Put(std::span(trace.operations), out);
  Put(std::span(trace.host_events), out);
  Put(std::span(trace.communication), out);
  Put(std::span(trace.transfers), out);
  Put(std::span(trace.links), out);
  std::vector<std::uint32_t> lengths;
  for (const std::string& name : trace.names) {
    lengths.push_back(static_cast<std::uint32_t>(name.size()));
  }
  Put(std::span<const std::uint32_t>(lengths), out);
  for (const std::string& name : trace.names) Put(std::span<const char>(name), out);
}

base::Result<std::vector<RankTrace>> Parse(std::span<const std::byte> file) {
  Bytes bytes(file);
  std::vector<RankTrace> traces;
  while (!bytes.is_empty()) {
    auto trace = TakeRank(&bytes);
    if (!trace) return std::unexpected(trace.error());
    traces.push_back(std::move(*trace));
  }
  return traces;
}

}  // namespace eidolon::critical_path
