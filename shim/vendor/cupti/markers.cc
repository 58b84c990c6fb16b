// Markers are written by the program's own calls, between GPU calls, so they carry the thread's
// virtual time of that moment and need no answer from the agent. Records hold pointers to names,
// and a program may read them at any later flush: names are interned for the life of the process,
// cut at 1 KiB. A range that nests ends by its domain, so the open ranges of a thread are searched
// from the innermost outwards. Their number is bounded, because a program that never pops would
// fill the memory.
#include "shim/vendor/cupti/markers.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "shim/core/rank_clock.h"
#include "shim/core/thread_object.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cupti/device_record.h"
#include "shim/vendor/cupti/watch.h"

namespace eidolon::shim::cupti::markers {
namespace {

constexpr std::size_t kNameBytesMax = 1024;  // Longer names are cut.
constexpr std::size_t kOpenMax = 10'000;     // Ranges that a thread opened and never closes.

struct Open {
  std::uint32_t id = 0;
  nvtxDomainHandle_t domain = nullptr;
};

std::vector<Open>& OpenRanges() { return core::ThreadObject<std::vector<Open>>(); }

CUpti_ActivityObjectKindId ThisThread() {
  CUpti_ActivityObjectKindId id{};
  id.pt.processId = static_cast<std::uint32_t>(getpid());
  id.pt.threadId = ThreadNumber();
  return id;
}

const char* TextOf(std::string_view text) {
  return Keep(std::string(text.substr(0, kNameBytesMax)))->c_str();
}

// `name` is empty for an end.
void Add(CUpti_ActivityFlag flag, CUpti_ActivityObjectKind object, std::uint32_t id,
         const char* name, nvtxDomainHandle_t domain) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = flag;
  record.timestamp = static_cast<std::uint64_t>(core::Now().ps);
  record.id = id;
  record.objectKind = object;
  record.objectId = ThisThread();
  record.name = name;
  record.domain =
      domain == nullptr ? nullptr : reinterpret_cast<const std::string*>(domain)->c_str();
  Watch::Get().KeepRecord(record);
}

void SetPayload(const nvtxEventAttributes_t& event, CUpti_ActivityMarkerData2* record) {
  switch (event.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
      record->payload.metricValueUint64 = event.payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_UINT64;
      record->payload.metricValueUint64 = event.payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT64:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_INT64;
      record->payload.metricValueInt64 = event.payload.llValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT32:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_INT64;
      record->payload.metricValueInt64 = event.payload.iValue;
      break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
      record->payload.metricValueDouble = event.payload.dValue;
      break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
      record->payloadKind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
      record->payload.metricValueDouble = static_cast<double>(event.payload.fValue);
      break;
    default:
      break;
  }
}

// Adds the data of calls that give attributes.
void AddData(std::uint32_t id, const nvtxEventAttributes_t* event) {
  if (event == nullptr) return;
  CUpti_ActivityMarkerData2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER_DATA;
  record.id = id;
  const bool has_color = event->colorType == NVTX_COLOR_ARGB;
  record.flags =
      has_color ? CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB : CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE;
  record.color = has_color ? event->color : 0;
  record.category = event->category;
  SetPayload(*event, &record);
  Watch::Get().KeepRecord(record);
}

bool Wants(CUpti_ActivityKind kind) {
  return Watch::Get().any_host_records() && Watch::Get().IsEnabled(kind);
}

// Runs in the program's call: nothing may escape. Without memory there is no record.
template <typename Body>
void IfWanted(CUpti_ActivityKind kind, Body&& body) noexcept {
  try {
    if (Wants(kind)) body();
  } catch (...) {
  }
}

void AddName(CUpti_ActivityObjectKind object, const CUpti_ActivityObjectKindId& id,
             std::string_view name) {
  CUpti_ActivityName record{};
  record.kind = CUPTI_ACTIVITY_KIND_NAME;
  record.objectKind = object;
  record.objectId = id;
  record.name = TextOf(name);
  Watch::Get().KeepRecord(record);
}

}  // namespace

const std::string* Keep(std::string text) {
  static std::mutex mutex;
  static auto& kept = *new std::set<std::string>;  // Never destroyed: threads may outlive main.
  const std::lock_guard lock(mutex);
  return &*kept.insert(std::move(text)).first;
}

void Push(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_MARKER, [&] {
    std::vector<Open>& open = OpenRanges();
    if (open.size() >= kOpenMax) open.erase(open.begin());
    const auto number = static_cast<std::uint32_t>(id);
    open.push_back({.id = number, .domain = attributes.domain});
    Add(CUPTI_ACTIVITY_FLAG_MARKER_START, CUPTI_ACTIVITY_OBJECT_THREAD, number, TextOf(name),
        attributes.domain);
    AddData(number, attributes.event);
  });
}

// A range that began before anybody wanted markers has no beginning, and no end then.
void Pop(nvtxDomainHandle_t domain) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_MARKER, [&] {
    std::vector<Open>& open = OpenRanges();
    const auto found = std::ranges::find(open.rbegin(), open.rend(), domain, &Open::domain);
    if (found == open.rend()) return;
    const std::uint32_t id = found->id;
    open.erase(std::next(found).base());
    Add(CUPTI_ACTIVITY_FLAG_MARKER_END, CUPTI_ACTIVITY_OBJECT_THREAD, id, nullptr, domain);
  });
}

void Start(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_MARKER, [&] {
    const auto number = static_cast<std::uint32_t>(id);
    Add(CUPTI_ACTIVITY_FLAG_MARKER_START, CUPTI_ACTIVITY_OBJECT_PROCESS, number, TextOf(name),
        attributes.domain);
    AddData(number, attributes.event);
  });
}

void End(std::uint64_t id, nvtxDomainHandle_t domain) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_MARKER, [&] {
    Add(CUPTI_ACTIVITY_FLAG_MARKER_END, CUPTI_ACTIVITY_OBJECT_PROCESS,
        static_cast<std::uint32_t>(id), nullptr, domain);
  });
}

void Mark(std::uint64_t id, std::string_view name, const Attributes& attributes) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_MARKER, [&] {
    const auto number = static_cast<std::uint32_t>(id);
    Add(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, CUPTI_ACTIVITY_OBJECT_THREAD, number,
        TextOf(name), attributes.domain);
    AddData(number, attributes.event);
  });
}

void NameThread(std::uint32_t thread, std::string_view name) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_NAME, [&] {
    CUpti_ActivityObjectKindId id{};
    id.pt.processId = static_cast<std::uint32_t>(getpid());
    id.pt.threadId = thread;
    AddName(CUPTI_ACTIVITY_OBJECT_THREAD, id, name);
  });
}

void NameDevice(int device, std::string_view name) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_NAME, [&] {
    CUpti_ActivityObjectKindId id{};
    id.dcs.deviceId = static_cast<std::uint32_t>(device);
    AddName(CUPTI_ACTIVITY_OBJECT_DEVICE, id, name);
  });
}

void NameContext(CUcontext context, std::string_view name) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_NAME, [&] {
    const gpu::Context* known = gpu::LookupContext(context);
    if (known == nullptr) return;
    CUpti_ActivityObjectKindId id{};
    id.dcs.deviceId = static_cast<std::uint32_t>(known->device);
    id.dcs.contextId = ContextNumber(id.dcs.deviceId);
    AddName(CUPTI_ACTIVITY_OBJECT_CONTEXT, id, name);
  });
}

void NameStream(CUstream stream, std::string_view name) noexcept {
  IfWanted(CUPTI_ACTIVITY_KIND_NAME, [&] {
    const gpu::Stream* known = gpu::Lookup(stream);
    if (known == nullptr) return;
    CUpti_ActivityObjectKindId id{};
    id.dcs.deviceId = static_cast<std::uint32_t>(known->device);
    id.dcs.contextId = ContextNumber(id.dcs.deviceId);
    id.dcs.streamId = StreamNumber(known->id);
    AddName(CUPTI_ACTIVITY_OBJECT_STREAM, id, name);
  });
}

}  // namespace eidolon::shim::cupti::markers
