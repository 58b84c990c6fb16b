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
#include "shim/cupti/callbacks.h"

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

// Parameters as CUPTI's generated_nvtx_meta.h has them: a structure with a member for each.
template <typename... Parameters>
struct Layout;
template <>
struct Layout<> {
  void* unused;
};
template <typename First>
struct Layout<First> {
  First first;
};
template <typename First, typename Second>
struct Layout<First, Second> {
  First first;
  Second second;
};

// The number of a call in CUPTI, and its name.
struct Call {
  CUpti_CallbackId id;
  const char* function;
};
#define CALL(name) \
  Call { CUPTI_CBID_NVTX_##name, #name }

// Tells a subscriber of CUPTI of a call that was made.
template <typename... Parameters>
void Tell(Call call, const void* result, const Parameters&... parameters) noexcept {
  if (!Callbacks::Get().any()) return;
  const Layout<Parameters...> layout{parameters...};
  Callbacks::Get().NvtxCalled(
      call.id,
      {.functionName = call.function, .functionParams = &layout, .functionReturnValue = result});
}
template <typename Return, typename... Parameters>
Return Told(Call call, Return result, const Parameters&... parameters) noexcept {
  Tell(call, &result, parameters...);
  return result;
}

using Event = const nvtxEventAttributes_t*;

int PushA(const char* name) {
  return Told(CALL(nvtxRangePushA), Push(name == nullptr ? "" : name), name);
}
int PushW(const wchar_t* name) {
  return Told(CALL(nvtxRangePushW), Guard(kNoNesting, [&] { return Push(Utf8(name)); }), name);
}
int PushOf(Event event) noexcept {
  return Guard(kNoNesting, [&] { return Push(NameOf(event)); });
}
int PushEx(Event event) { return Told(CALL(nvtxRangePushEx), PushOf(event), event); }
int DomainPushEx(nvtxDomainHandle_t domain, Event event) {
  return Told(CALL(nvtxDomainRangePushEx), PushOf(event), domain, event);
}
int PlainPop() { return Told(CALL(nvtxRangePop), Pop()); }
int DomainPop(nvtxDomainHandle_t domain) { return Told(CALL(nvtxDomainRangePop), Pop(), domain); }

nvtxRangeId_t StartA(const char* name) {
  return Told(CALL(nvtxRangeStartA), Start(name == nullptr ? "" : name), name);
}
nvtxRangeId_t StartW(const wchar_t* name) {
  return Told(CALL(nvtxRangeStartW), Guard(nvtxRangeId_t{0}, [&] { return Start(Utf8(name)); }),
              name);
}
nvtxRangeId_t StartOf(Event event) noexcept {
  return Guard(nvtxRangeId_t{0}, [&] { return Start(NameOf(event)); });
}
nvtxRangeId_t StartEx(Event event) { return Told(CALL(nvtxRangeStartEx), StartOf(event), event); }
nvtxRangeId_t DomainStartEx(nvtxDomainHandle_t domain, Event event) {
  return Told(CALL(nvtxDomainRangeStartEx), StartOf(event), domain, event);
}
void PlainEnd(nvtxRangeId_t id) {
  End(id);
  Tell(CALL(nvtxRangeEnd), nullptr, id);
}
void DomainEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  End(id);
  Tell(CALL(nvtxDomainRangeEnd), nullptr, domain, id);
}

// Of marks, and of names of threads and categories, only a subscriber is told.
void MarkA(const char* text) { Tell(CALL(nvtxMarkA), nullptr, text); }
void MarkW(const wchar_t* text) { Tell(CALL(nvtxMarkW), nullptr, text); }
void MarkEx(Event event) { Tell(CALL(nvtxMarkEx), nullptr, event); }
void DomainMarkEx(nvtxDomainHandle_t domain, Event event) {
  Tell(CALL(nvtxDomainMarkEx), nullptr, domain, event);
}
void NameThreadA(std::uint32_t thread, const char* name) {
  Tell(CALL(nvtxNameOsThreadA), nullptr, thread, name);
}
void NameThreadW(std::uint32_t thread, const wchar_t* name) {
  Tell(CALL(nvtxNameOsThreadW), nullptr, thread, name);
}
void NameCategoryA(std::uint32_t category, const char* name) {
  Tell(CALL(nvtxNameCategoryA), nullptr, category, name);
}
void NameCategoryW(std::uint32_t category, const wchar_t* name) {
  Tell(CALL(nvtxNameCategoryW), nullptr, category, name);
}
void DomainNameCategoryA(nvtxDomainHandle_t domain, std::uint32_t category, const char* name) {
  Tell(CALL(nvtxDomainNameCategoryA), nullptr, domain,
       Layout<std::uint32_t, const char*>{category, name});
}
void DomainNameCategoryW(nvtxDomainHandle_t domain, std::uint32_t category, const wchar_t* name) {
  Tell(CALL(nvtxDomainNameCategoryW), nullptr, domain,
       Layout<std::uint32_t, const wchar_t*>{category, name});
}

// Handles are made from addresses whose names nobody changes.
template <typename Handle>
Handle AsHandle(const std::string* name) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(name));
}
nvtxDomainHandle_t CreateDomainA(const char* name) {
  const auto made = Guard(nvtxDomainHandle_t{nullptr}, [&] {
    return AsHandle<nvtxDomainHandle_t>(Keep(name == nullptr ? "" : name));
  });
  return Told(CALL(nvtxDomainCreateA), made, name);
}
nvtxDomainHandle_t CreateDomainW(const wchar_t* name) {
  const auto made = Guard(nvtxDomainHandle_t{nullptr},
                          [&] { return AsHandle<nvtxDomainHandle_t>(Keep(Utf8(name))); });
  return Told(CALL(nvtxDomainCreateW), made, name);
}
void DestroyDomain(nvtxDomainHandle_t domain) { Tell(CALL(nvtxDomainDestroy), nullptr, domain); }
nvtxStringHandle_t RegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  const auto made = Guard(nvtxStringHandle_t{nullptr}, [&] {
    return AsHandle<nvtxStringHandle_t>(Keep(text == nullptr ? "" : text));
  });
  return Told(CALL(nvtxDomainRegisterStringA), made, domain, text);
}
nvtxStringHandle_t RegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  const auto made = Guard(nvtxStringHandle_t{nullptr},
                          [&] { return AsHandle<nvtxStringHandle_t>(Keep(Utf8(text))); });
  return Told(CALL(nvtxDomainRegisterStringW), made, domain, text);
}
#undef CALL

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
  plain.Set(NVTX_CBID_CORE_RangePop, PlainPop);
  plain.Set(NVTX_CBID_CORE_RangeStartA, StartA);
  plain.Set(NVTX_CBID_CORE_RangeStartW, StartW);
  plain.Set(NVTX_CBID_CORE_RangeStartEx, StartEx);
  plain.Set(NVTX_CBID_CORE_RangeEnd, PlainEnd);
  domain.Set(NVTX_CBID_CORE2_DomainRangePushEx, DomainPushEx);
  domain.Set(NVTX_CBID_CORE2_DomainRangePop, DomainPop);
  domain.Set(NVTX_CBID_CORE2_DomainRangeStartEx, DomainStartEx);
  domain.Set(NVTX_CBID_CORE2_DomainRangeEnd, DomainEnd);
  domain.Set(NVTX_CBID_CORE2_DomainCreateA, CreateDomainA);
  domain.Set(NVTX_CBID_CORE2_DomainCreateW, CreateDomainW);
  domain.Set(NVTX_CBID_CORE2_DomainRegisterStringA, RegisterStringA);
  domain.Set(NVTX_CBID_CORE2_DomainRegisterStringW, RegisterStringW);
  plain.Set(NVTX_CBID_CORE_MarkA, MarkA);
  plain.Set(NVTX_CBID_CORE_MarkW, MarkW);
  plain.Set(NVTX_CBID_CORE_MarkEx, MarkEx);
  plain.Set(NVTX_CBID_CORE_NameCategoryA, NameCategoryA);
  plain.Set(NVTX_CBID_CORE_NameCategoryW, NameCategoryW);
  plain.Set(NVTX_CBID_CORE_NameOsThreadA, NameThreadA);
  plain.Set(NVTX_CBID_CORE_NameOsThreadW, NameThreadW);
  domain.Set(NVTX_CBID_CORE2_DomainMarkEx, DomainMarkEx);
  domain.Set(NVTX_CBID_CORE2_DomainNameCategoryA, DomainNameCategoryA);
  domain.Set(NVTX_CBID_CORE2_DomainNameCategoryW, DomainNameCategoryW);
  domain.Set(NVTX_CBID_CORE2_DomainDestroy, DestroyDomain);
  return 1;
}

int AttachExtension(void* /*module*/) noexcept { return 0; }

}  // namespace eidolon::shim::cupti::nvtx
