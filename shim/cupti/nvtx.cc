#include "shim/cupti/nvtx.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "services/ring/record.h"
#include "shim/core/session.h"

namespace eidolon::shim::cupti::nvtx {
namespace {

using core::Session;

constexpr std::size_t kNameBytesMax = 1024;  // Longer names are cut.
constexpr int kNoNesting = -2;               // NVTX's own answer when nobody listens.

thread_local int depth = 0;
constinit std::atomic<std::uint64_t> next_range = 1;

void Record(ring::RecordKind kind, std::uint64_t id, std::string_view name) noexcept {
  Session* session = Session::Existing();
  if (session == nullptr) return;
  name = name.substr(0, kNameBytesMax);
  ring::MarkRecord record{};
  record.header.kind = kind;
  record.id = id;
  record.name_bytes = static_cast<std::uint32_t>(name.size());
  const std::span<const std::byte> tail = std::as_bytes(std::span(name));
  session->Append(&record.header, sizeof(record), {&tail, 1});
}

std::string Utf8(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != L'\0' && out.size() < kNameBytesMax; ++text) {
    const auto c = static_cast<std::uint32_t>(*text);
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | (c >> 18 & 0x07));
      out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return out;
}

// A string handle or a domain is the address of its name, kept for good; programs register a few.
const std::string* Keep(std::string name) {
  static std::mutex mutex;
  static auto& kept = *new std::set<std::string>;  // Never destroyed: threads may outlive main.
  const std::lock_guard lock(mutex);
  return &*kept.insert(std::move(name)).first;
}

std::string NameOf(const nvtxEventAttributes_t* event) {
  if (event == nullptr) return {};
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return event->message.ascii == nullptr ? "" : event->message.ascii;
    case NVTX_MESSAGE_TYPE_UNICODE:
      return Utf8(event->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return event->message.registered == nullptr
                 ? ""
                 : *reinterpret_cast<const std::string*>(event->message.registered);
    default:
      return {};
  }
}

// Runs in the program's call: nothing may escape (NVTX is C).
template <typename Return, typename Body>
Return Guard(Return otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

int Push(std::string_view name) noexcept {
  Record(ring::RecordKind::kRangePush, 0, name);
  return depth++;
}

int Pop() noexcept {
  if (depth == 0) return kNoNesting;
  Record(ring::RecordKind::kRangePop, 0, {});
  return --depth;
}

// Ranges that start and end anywhere carry a number instead of nesting.
nvtxRangeId_t Start(std::string_view name) noexcept {
  const std::uint64_t id = next_range++;
  Record(ring::RecordKind::kRangePush, id, name);
  return id;
}

void End(nvtxRangeId_t id) noexcept { Record(ring::RecordKind::kRangePop, id, {}); }

int PushA(const char* name) { return Push(name == nullptr ? "" : name); }
int PushW(const wchar_t* name) {
  return Guard(kNoNesting, [&] { return Push(Utf8(name)); });
}
int PushEx(const nvtxEventAttributes_t* event) {
  return Guard(kNoNesting, [&] { return Push(NameOf(event)); });
}
int DomainPushEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) { return PushEx(event); }
int DomainPop(nvtxDomainHandle_t) { return Pop(); }

nvtxRangeId_t StartA(const char* name) { return Start(name == nullptr ? "" : name); }
nvtxRangeId_t StartW(const wchar_t* name) {
  return Guard(nvtxRangeId_t{0}, [&] { return Start(Utf8(name)); });
}
nvtxRangeId_t StartEx(const nvtxEventAttributes_t* event) {
  return Guard(nvtxRangeId_t{0}, [&] { return Start(NameOf(event)); });
}
nvtxRangeId_t DomainStartEx(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  return StartEx(event);
}
void DomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { End(id); }

// Handles are made from addresses whose names nobody changes.
template <typename Handle>
Handle AsHandle(const std::string* name) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(name));
}
nvtxDomainHandle_t CreateDomainA(const char* name) {
  return Guard(nvtxDomainHandle_t{nullptr},
               [&] { return AsHandle<nvtxDomainHandle_t>(Keep(name == nullptr ? "" : name)); });
}
nvtxDomainHandle_t CreateDomainW(const wchar_t* name) {
  return Guard(nvtxDomainHandle_t{nullptr},
               [&] { return AsHandle<nvtxDomainHandle_t>(Keep(Utf8(name))); });
}
nvtxStringHandle_t RegisterStringA(nvtxDomainHandle_t, const char* text) {
  return Guard(nvtxStringHandle_t{nullptr},
               [&] { return AsHandle<nvtxStringHandle_t>(Keep(text == nullptr ? "" : text)); });
}
nvtxStringHandle_t RegisterStringW(nvtxDomainHandle_t, const wchar_t* text) {
  return Guard(nvtxStringHandle_t{nullptr},
               [&] { return AsHandle<nvtxStringHandle_t>(Keep(Utf8(text))); });
}

// One module's slots: an array of pointers to the program's function pointers.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &slots_, &size_) == 0) slots_ = nullptr;
  }
  bool found() const { return slots_ != nullptr; }
  template <typename Function>
  void Set(unsigned id, Function* function) {
    if (id < size_ && slots_[id] != nullptr) {
      *slots_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
  }

 private:
  NvtxFunctionTable slots_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

int Attach(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (get_export_table == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks)) return 0;
  Table plain(*callbacks, NVTX_CB_MODULE_CORE);
  Table domain(*callbacks, NVTX_CB_MODULE_CORE2);
  if (!plain.found() || !domain.found()) return 0;
  plain.Set(NVTX_CBID_CORE_RangePushA, PushA);
  plain.Set(NVTX_CBID_CORE_RangePushW, PushW);
  plain.Set(NVTX_CBID_CORE_RangePushEx, PushEx);
  plain.Set(NVTX_CBID_CORE_RangePop, Pop);
  plain.Set(NVTX_CBID_CORE_RangeStartA, StartA);
  plain.Set(NVTX_CBID_CORE_RangeStartW, StartW);
  plain.Set(NVTX_CBID_CORE_RangeStartEx, StartEx);
  plain.Set(NVTX_CBID_CORE_RangeEnd, End);
  domain.Set(NVTX_CBID_CORE2_DomainRangePushEx, DomainPushEx);
  domain.Set(NVTX_CBID_CORE2_DomainRangePop, DomainPop);
  domain.Set(NVTX_CBID_CORE2_DomainRangeStartEx, DomainStartEx);
  domain.Set(NVTX_CBID_CORE2_DomainRangeEnd, DomainEnd);
  domain.Set(NVTX_CBID_CORE2_DomainCreateA, CreateDomainA);
  domain.Set(NVTX_CBID_CORE2_DomainCreateW, CreateDomainW);
  domain.Set(NVTX_CBID_CORE2_DomainRegisterStringA, RegisterStringA);
  domain.Set(NVTX_CBID_CORE2_DomainRegisterStringW, RegisterStringW);
  return 1;
}

int AttachExtension(void* /*module*/) noexcept { return 0; }

}  // namespace eidolon::shim::cupti::nvtx
