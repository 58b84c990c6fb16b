// Perfetto wants the slices of a track to nest, in the order of their beginnings. So spans are
// sorted by start and then longest first, those that overlap otherwise go to further lanes, and
// ends are written from a stack before the next beginning. Arguments refer to text that lives as
// long as the renderer: a slice copies nothing. Flow numbers are made of server and process, or are
// a hash of the transfer, so that both ends find the same number in files that were written apart.
#include "services/agent/timeline/render.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "services/agent/timeline/call_arrows.h"
#include "services/agent/timeline/lanes.h"
#include "services/agent/timeline/names.h"
#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/contract/estimate/source.h"

namespace eidolon::agent::timeline {

using base::SimTime;
using base::StrCat;

namespace {

constexpr std::size_t kArgumentsMax = 9;
constexpr std::uint64_t kTransferFlow = std::uint64_t{1} << 63;

// Orders of a rank's tracks.
enum Order : std::int32_t { kIterations = 0, kRanges = 1, kHost = 2, kStreams = 10 };
constexpr std::int32_t kCounters = 1'000'000;

struct Span {
  SimTime start;
  SimTime end;
  std::uint64_t number = 0;  // The caller's.
};

// Contents of a slice, apart from its times.
struct Face {
  std::string_view name;
  std::string_view category;
  std::vector<Argument> arguments;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> last_flows = {};
};

// A change of what is booked on a device, or of what is known to lie in it.
struct MemoryStep {
  std::uint64_t order = 0;
  std::uint64_t sequence = 0;
  SimTime at;
  const MemoryUse* use = nullptr;  // Null: as before.
  MemoryPart added;
};

struct MemoryCategory {
  const char* name = "";
  bool is_part = false;  // Of the allocations.
  const char* description = "";
  std::int64_t (*bytes)(const MemoryUse& use, const MemoryPart& part) = nullptr;
};

constexpr char kBooked[] = "bytes booked on the device";
constexpr char kListed[] = "bytes of tensors that the optimizer's kernels work on";

constexpr std::array<MemoryCategory, 9> kMemoryCategories = {{
    {"parameters", true, kListed,
     [](const MemoryUse&, const MemoryPart& p) { return p.parameters; }},
    {"gradients", true, kListed, [](const MemoryUse&, const MemoryPart& p) { return p.gradients; }},
    {"optimizer state", true, kListed,
     [](const MemoryUse&, const MemoryPart& p) { return p.optimizer_state; }},
    {"activations", true, "bytes of blocks that a backward pass gives back later",
     [](const MemoryUse&, const MemoryPart& p) { return p.activations; }},
    {"other allocations", true, "allocations without the four parts, unused memory included",
     [](const MemoryUse& u, const MemoryPart& p) {
       return std::max<std::int64_t>(u.allocations - p.sum(), 0);
     }},
    {"allocations", false, kBooked,
     [](const MemoryUse& u, const MemoryPart&) { return u.allocations; }},
    {"workspace", false, kBooked,
     [](const MemoryUse& u, const MemoryPart&) { return u.workspace; }},
    {"NCCL", false, kBooked, [](const MemoryUse& u, const MemoryPart&) { return u.nccl; }},
    {"context", false, kBooked, [](const MemoryUse& u, const MemoryPart&) { return u.context; }},
}};

// Draws one process. Names that slices refer to live as long as it does.
class Renderer {
 public:
  Renderer(const Recorder& recorder, const Shown& shown, TraceWriter* writer)
      : recorder_(recorder),
        shown_(shown),
        writer_(*writer),
        rank_track_(ServerTrack(shown.server) | (std::uint64_t{shown.process} + 1) << 20),
        next_track_(rank_track_ + 1),
        names_(shown.costs, shown.plain),
        arrows_(recorder) {}

  void Render() {
    writer_.AddTrack({.uuid = rank_track_,
                      .parent = ServerTrack(shown_.server),
                      .name = StrCat("rank ", shown_.rank),
                      .order = shown_.rank,
                      .description = ""});
    RenderIterations();
    RenderRanges();
    RenderHost();
    RenderStreams();
    RenderCollectiveRates();
    RenderMemory();
  }

 private:
  TraceWriter::Track NewTrack(std::string name, std::int32_t order, std::string description = "") {
    return {.uuid = next_track_++,
            .parent = rank_track_,
            .name = std::move(name),
            .order = order,
            .description = std::move(description)};
  }

  // Spans that do not fit beside each other get further tracks of the same name.
  template <typename FaceOf>
  void RenderSpans(std::vector<Span> spans, Nesting nesting, const std::string& name,
                   std::int32_t order, FaceOf&& face_of) {
    if (spans.empty()) return;
    std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    Lanes lanes(nesting);
    std::vector<std::uint64_t> tracks;
    std::vector<std::vector<SimTime>> open;
    for (const Span& span : spans) {
      const std::size_t lane = lanes.Place(span.start, span.end);
      if (lane == tracks.size()) {
        const auto track = NewTrack(lane == 0 ? name : StrCat(name, " (", lane + 1, ")"), order);
        writer_.AddTrack(track);
        tracks.push_back(track.uuid);
        open.emplace_back();
      }
      EndUntil(span.start, tracks[lane], &open[lane]);
      const Face face = face_of(span.number);
      writer_.Begin({.track = tracks[lane],
                     .at = span.start,
                     .name = face.name,
                     .category = face.category,
                     .arguments = face.arguments,
                     .flows = face.flows,
                     .last_flows = face.last_flows});
      open[lane].push_back(span.end);
      RenderWaitForPeers(span.number, face.category, tracks[lane]);
    }
    for (std::size_t lane = 0; lane < tracks.size(); ++lane) {
      EndUntil(SimTime::Max(), tracks[lane], &open[lane]);
    }
  }

  void EndUntil(SimTime time, std::uint64_t track, std::vector<SimTime>* open) {
    while (!open->empty() && open->back() <= time) {
      writer_.End(track, open->back());
      open->pop_back();
    }
  }

  // NCCL's kernel occupies the stream while it waits for the other ranks.
  void RenderWaitForPeers(std::uint64_t sequence, std::string_view category, std::uint64_t track) {
    if (category != "nccl") return;
    const Operation* operation = recorder_.Find(sequence);
    if (operation->start <= operation->ready) return;
    writer_.Begin({.track = track,
                   .at = operation->ready,
                   .name = "waits for other ranks",
                   .category = "wait",
                   .arguments = {},
                   .flows = {},
                   .last_flows = {}});
    writer_.End(track, operation->start);
  }

  void RenderIterations();
  void RenderRanges();
  void RenderHost();
  void RenderStreams();
  void RenderStream(std::uint16_t device, std::uint32_t stream, std::vector<Span> spans);
  void RenderCollectiveRates();
  void RenderMemory();
  void RenderMemory(std::uint16_t device, const std::vector<MemoryStep>& steps);

  Face FaceOf(std::uint64_t sequence);
  void AddEstimate(std::uint32_t basis, Face* face);
  static void AddLinks(std::span<const critical_path::LinkTime> links, Face* face);
  Face FaceOfCall(const HostEvent& event);
  // Returns the flow of an arrow's number.
  std::uint64_t FlowOf(std::uint32_t number) const {
    return std::uint64_t{shown_.server} << 48 | std::uint64_t{shown_.process} << 32 |
           (std::uint64_t{number} + 1);
  }
  std::uint64_t FlowOf(const Collective& collective, const Collective::Transfer& transfer) const;

  const Recorder& recorder_;
  const Shown& shown_;
  TraceWriter& writer_;
  std::uint64_t rank_track_;
  std::uint64_t next_track_;
  Names names_;
  CallArrows arrows_;
};

void Renderer::RenderIterations() {
  const auto left_out = static_cast<std::int64_t>(recorder_.CountLeftOut());
  std::vector<std::string> names;
  std::vector<Span> spans;
  for (const Window& window : recorder_.windows()) {
    spans.push_back({.start = window.start, .end = window.finish, .number = spans.size()});
    names.push_back(window.index ? StrCat("iteration ", *window.index) : "program");
  }
  RenderSpans(spans, Nesting::kNone, "iterations", kIterations, [&](std::uint64_t number) {
    const Window& window = recorder_.windows()[number];
    return Face{.name = names[number],
                .category = "iteration",
                .arguments = {{"picoseconds", (window.finish - window.start).ps},
                              {"operations", static_cast<std::int64_t>(window.end - window.first)},
                              {"operations_left_out", left_out}},
                .flows = {}};
  });
}

void Renderer::RenderRanges() {
  std::vector<std::string> names;
  std::vector<Span> spans;
  for (const Range& range : recorder_.ranges()) {
    spans.push_back({.start = range.begin, .end = range.end, .number = spans.size()});
    names.push_back(shown_.plain(range.name));
  }
  RenderSpans(spans, Nesting::kAllowed, "NVTX", kRanges, [&](std::uint64_t number) {
    return Face{.name = names[number], .category = "nvtx", .arguments = {}, .flows = {}};
  });
}

void Renderer::RenderHost() {
  std::vector<Span> spans;
  for (const HostEvent& event : recorder_.host_events()) {
    spans.push_back({.start = event.begin, .end = event.end, .number = spans.size()});
  }
  RenderSpans(spans, Nesting::kAllowed, "host", kHost,
              [&](std::uint64_t number) { return FaceOfCall(recorder_.host_events()[number]); });
}

Face Renderer::FaceOfCall(const HostEvent& event) {
  Face face{.name = Name(event.call),
            .category = event.operations > 0 ? "call" : "wait",
            .arguments = {},
            .flows = {}};
  if (const std::string* line = recorder_.LineOf(event)) {
    face.arguments.push_back({"python", std::string_view(*line)});
  }
  if (event.operations == 0) return face;
  if (event.operations > 1)
    face.arguments.push_back({"operations", std::int64_t{event.operations}});
  for (std::uint64_t i = 0; i < ArrowsOf(event); ++i) {
    const auto arrow = arrows_.To(event.sequence + i);
    if (arrow) face.flows.push_back(FlowOf(arrow->value));
  }
  const Operation* operation = recorder_.Find(event.sequence);
  if (operation == nullptr) return face;
  if (event.call == HostCall::kLaunch && operation->kind == device::OpKind::kWork) {
    face.name = names_.WorkOf(*operation).call;
  }
  if (event.call == HostCall::kCommunication && event.operations == 1) {
    const Collective* collective = recorder_.FindCollective(event.sequence);
    if (collective != nullptr) face.name = names_.NameOf(collective->name);
  }
  return face;
}

void Renderer::RenderStreams() {
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<Span>> streams;
  for (const Window& window : recorder_.windows()) {
    for (std::uint64_t sequence = window.first; sequence < window.end; ++sequence) {
      const Operation* operation = recorder_.Find(sequence);
      if (operation == nullptr) continue;
      streams[{operation->device, operation->stream}].push_back(
          {.start = StartOf(*operation), .end = operation->finish, .number = sequence});
    }
  }
  for (auto& [place, spans] : streams) RenderStream(place.first, place.second, std::move(spans));
}

void Renderer::RenderStream(std::uint16_t device, std::uint32_t stream, std::vector<Span> spans) {
  std::map<std::string_view, std::size_t> content;
  for (const Span& span : spans) {
    const Operation& operation = *recorder_.Find(span.number);
    const bool is_work = operation.kind == device::OpKind::kWork;
    ++content[operation.kind == device::OpKind::kCollective             ? "NCCL"
              : !is_work || names_.WorkOf(operation).category != "copy" ? "kernels"
                                                                        : "copies"];
  }
  const auto most = std::ranges::max_element(
      content, [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto order = static_cast<std::int32_t>(
      std::min<std::uint64_t>(kStreams + (std::uint64_t{device} << 12) + stream, kCounters - 1));
  RenderSpans(std::move(spans), Nesting::kNone,
              StrCat("GPU ", device, " stream ", stream, ": ", most->first), order,
              [this](std::uint64_t sequence) { return FaceOf(sequence); });
}

Face Renderer::FaceOf(std::uint64_t sequence) {
  const Operation& operation = *recorder_.Find(sequence);
  Face face;
  face.arguments.reserve(kArgumentsMax);
  if (const auto arrow = arrows_.To(sequence)) {
    (arrow->ends ? face.last_flows : face.flows).push_back(FlowOf(arrow->value));
  }
  const Collective* collective = recorder_.FindCollective(sequence);
  if (operation.kind == device::OpKind::kCallback) {
    face.name = "host function";
    face.category = "callback";
  } else if (collective != nullptr) {
    face.name = names_.NameOf(collective->name);
    face.category = "nccl";
    AddEstimate(collective->basis, &face);
    face.arguments.push_back({"bytes", static_cast<std::int64_t>(collective->bytes)});
    face.arguments.push_back({"communicator", static_cast<std::int64_t>(collective->communicator)});
    face.arguments.push_back({"call", static_cast<std::int64_t>(collective->call)});
    AddLinks(collective->links, &face);
    for (const Collective::Transfer& transfer : collective->transfers) {
      face.flows.push_back(FlowOf(*collective, transfer));
    }
  } else {
    const Names::Work& work = names_.WorkOf(operation);
    const cost::CostEntry& entry = shown_.costs->entry(operation.tag);
    face.name = work.name;
    face.category = work.category;
    AddEstimate(entry.basis, &face);
    if (!work.grid.empty()) {
      if (work.name != work.function) face.arguments.push_back({"function", work.function});
      face.arguments.push_back({"kernel", work.full});
      face.arguments.push_back({"grid", work.grid});
      face.arguments.push_back({"block", work.block});
    } else if (work.category == "copy") {
      face.arguments.push_back({"bytes", static_cast<std::int64_t>(entry.shown.bytes)});
    }
  }
  if (operation.host_bound) face.arguments.push_back({"waited_for", "host"});
  return face;
}

// A sort of links once, however many of them there are: they follow each other.
void Renderer::AddLinks(std::span<const critical_path::LinkTime> links, Face* face) {
  for (std::size_t at = 0; at < links.size();) {
    const critical_path::LinkTier tier = links[at].tier;
    base::Duration time;
    for (; at < links.size() && links[at].tier == tier; ++at) time += links[at].time;
    face->arguments.push_back({FieldOf(tier), time.ps});
  }
}

void Renderer::AddEstimate(std::uint32_t number, Face* face) {
  const iteration::Basis& basis = shown_.costs->bases()[number];
  face->arguments.push_back({"source", estimate::Name(basis.source)});
  face->arguments.push_back({"relative_error", static_cast<double>(basis.relative_error)});
  face->arguments.push_back({"family", names_.NameOf(basis.family)});
}

std::uint64_t Renderer::FlowOf(const Collective& collective,
                               const Collective::Transfer& transfer) const {
  const auto own = static_cast<std::uint32_t>(collective.rank);
  const auto peer = static_cast<std::uint32_t>(transfer.peer);
  const std::array<std::uint64_t, 4> key = {collective.communicator, transfer.is_send ? own : peer,
                                            transfer.is_send ? peer : own, transfer.sequence};
  return kTransferFlow | base::Hash128(key.data(), sizeof(key)).low;
}

// Draws the rate of a device's NCCL calls: bytes of each call over its time, for all that are under
// way.
void Renderer::RenderCollectiveRates() {
  std::map<std::uint16_t, std::map<SimTime, std::int64_t>> steps;
  for (const Window& window : recorder_.windows()) {
    for (std::uint64_t sequence = window.first; sequence < window.end; ++sequence) {
      const Collective* collective = recorder_.FindCollective(sequence);
      const Operation* operation = recorder_.Find(sequence);
      if (collective == nullptr || operation == nullptr) continue;
      const double seconds = (operation->finish - operation->start).Seconds();
      if (seconds <= 0) continue;
      const auto rate = static_cast<std::int64_t>(static_cast<double>(collective->bytes) / seconds);
      steps[operation->device][operation->start] += rate;
      steps[operation->device][operation->finish] -= rate;
    }
  }
  for (const auto& [device, changes] : steps) {
    const auto track =
        NewTrack(StrCat("GPU ", device, " NCCL bytes per second"), kCounters + device,
                 "bytes of each call over its time, for all calls under way");
    writer_.AddCounter(track, CounterUnit::kBytes);
    std::int64_t rate = 0;
    for (const auto& [time, change] : changes) {
      rate += change;
      writer_.Count(track.uuid, time, rate);
    }
  }
}

// In the order of the program, at the host's times: it may be far ahead of the iteration that its
// GPU is in.
void Renderer::RenderMemory() {
  const std::vector<Window>& windows = recorder_.windows();
  std::map<std::uint16_t, std::vector<MemoryStep>> devices;
  for (const MemoryUse& use : recorder_.memory()) {
    devices[use.device].push_back(
        {.order = use.order, .sequence = use.sequence, .at = use.at, .use = &use, .added = {}});
  }
  const MemoryParts& parts = recorder_.memory_parts();
  for (const auto& change : parts.Changes(windows.front().first, windows.back().end)) {
    devices[change.device].push_back({.order = change.moment.order,
                                      .sequence = change.moment.sequence,
                                      .at = change.moment.at,
                                      .use = nullptr,
                                      .added = change.added});
  }
  for (auto& [device, steps] : devices) {
    std::ranges::sort(steps, {}, &MemoryStep::order);
    RenderMemory(device, steps);
  }
}

void Renderer::RenderMemory(std::uint16_t device, const std::vector<MemoryStep>& steps) {
  const bool has_parts = recorder_.memory_parts().has_blocks();
  std::vector<std::pair<TraceWriter::Track, std::optional<std::int64_t>>> counters;
  for (const MemoryCategory& category : kMemoryCategories) {
    counters.emplace_back(NewTrack(StrCat("GPU ", device, " memory: ", category.name),
                                   kCounters + 1000 + device, category.description),
                          std::nullopt);
    if (!category.is_part || has_parts) {
      writer_.AddCounter(counters.back().first, CounterUnit::kBytes);
    }
  }
  MemoryUse use;
  MemoryPart part;
  const auto count = [&](SimTime at, bool always) {
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (kMemoryCategories[i].is_part && !has_parts) continue;
      const std::int64_t bytes = kMemoryCategories[i].bytes(use, part);
      if (!always && counters[i].second == bytes) continue;
      counters[i].second = bytes;
      writer_.Count(counters[i].first.uuid, at, bytes);
    }
  };
  const std::uint64_t first = recorder_.windows().front().first;
  SimTime last = recorder_.windows().front().start;
  bool has_begun = false;  // What was there before stands at the beginning.
  for (const MemoryStep& step : steps) {
    if (step.sequence > first) {
      if (!has_begun) count(std::min(last, step.at), true);
      has_begun = true;
    }
    if (step.use != nullptr) use = *step.use;
    part = part + step.added;
    if (has_begun) count(step.at, false);
    if (has_begun) last = std::max(last, step.at);
  }
  if (!has_begun) count(last, true);
  count(std::max(last, recorder_.windows().back().finish), true);
}

}  // namespace

void Render(const Recorder& recorder, const Shown& shown, TraceWriter* writer) {
  if (recorder.windows().empty()) return;
  Renderer(recorder, shown, writer).Render();
}

}  // namespace eidolon::agent::timeline
