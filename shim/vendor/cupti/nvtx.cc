// NVTX is a header that asks an injected library for its functions once and then calls through a
// table in the program. So nothing is intercepted: Attach writes pointers into those slots, and a
// slot that the program lacks (an older header) is passed over. The functions are called from C, so
// nothing may be thrown through them.
//
// A range has two readers. The agent gets it as a record of the ring, by which a job names its
// iterations, also when nothing profiles; CUPTI gets it as a marker. Nested ranges are told to the
// agent without a number, since their order says which one ends; ranges that end anywhere carry
// one, which is never 0.
#include "shim/vendor/cupti/nvtx.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/vendor/cupti/callbacks.h"
#include "shim/vendor/cupti/markers.h"

namespace eidolon::shim::cupti::nvtx {
namespace {

using core::Session;
using markers::Attributes;

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

int Push(std::string_view name, const Attributes& attributes = {}) noexcept {
  Record(ring::RecordKind::kRangePush, 0, name);
  markers::Push(next_range++, name, attributes);
  return depth++;
}

int Pop(nvtxDomainHandle_t domain) noexcept {
  if (depth == 0) return kNoNesting;
  Record(ring::RecordKind::kRangePop, 0, {});
  markers::Pop(domain);
  return --depth;
}

// Ranges that start and end anywhere carry a number instead of nesting.
nvtxRangeId_t Start(std::string_view name, const Attributes& attributes = {}) noexcept {
  const std::uint64_t id = next_range++;
  Record(ring::RecordKind::kRangePush, id, name);
  markers::Start(id, name, attributes);
  return id;
}

void End(nvtxRangeId_t id, nvtxDomainHandle_t domain) noexcept {
  Record(ring::RecordKind::kRangePop, id, {});
  markers::End(id, domain);
}

void Mark(std::string_view text, const Attributes& attributes = {}) noexcept {
  markers::Mark(next_range++, text, attributes);
}

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
int PushOf(nvtxDomainHandle_t domain, Event event) noexcept {
  return Guard(kNoNesting, [&] { return Push(NameOf(event), {.domain = domain, .event = event}); });
}
int PushEx(Event event) { return Told(CALL(nvtxRangePushEx), PushOf(nullptr, event), event); }
int DomainPushEx(nvtxDomainHandle_t domain, Event event) {
  return Told(CALL(nvtxDomainRangePushEx), PushOf(domain, event), domain, event);
}
int PlainPop() { return Told(CALL(nvtxRangePop), Pop(nullptr)); }
int DomainPop(nvtxDomainHandle_t domain) {
  return Told(CALL(nvtxDomainRangePop), Pop(domain), domain);
}

nvtxRangeId_t StartA(const char* name) {
  return Told(CALL(nvtxRangeStartA), Start(name == nullptr ? "" : name), name);
}
nvtxRangeId_t StartW(const wchar_t* name) {
  return Told(CALL(nvtxRangeStartW), Guard(nvtxRangeId_t{0}, [&] { return Start(Utf8(name)); }),
              name);
}
nvtxRangeId_t StartOf(nvtxDomainHandle_t domain, Event event) noexcept {
  return Guard(nvtxRangeId_t{0},
               [&] { return Start(NameOf(event), {.domain = domain, .event = event}); });
}
nvtxRangeId_t StartEx(Event event) {
  return Told(CALL(nvtxRangeStartEx), StartOf(nullptr, event), event);
}
nvtxRangeId_t DomainStartEx(nvtxDomainHandle_t domain, Event event) {
  return Told(CALL(nvtxDomainRangeStartEx), StartOf(domain, event), domain, event);
}
void PlainEnd(nvtxRangeId_t id) {
  End(id, nullptr);
  Tell(CALL(nvtxRangeEnd), nullptr, id);
}
void DomainEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  End(id, domain);
  Tell(CALL(nvtxDomainRangeEnd), nullptr, domain, id);
}

// Marks and names are for profilers inside the program alone.
std::string_view TextOf(const char* text) { return text == nullptr ? "" : text; }
void MarkA(const char* text) {
  Mark(TextOf(text));
  Tell(CALL(nvtxMarkA), nullptr, text);
}
void MarkW(const wchar_t* text) {
  Guard(0, [&] { return Mark(Utf8(text)), 0; });
  Tell(CALL(nvtxMarkW), nullptr, text);
}
void MarkOf(nvtxDomainHandle_t domain, Event event) noexcept {
  Guard(0, [&] { return Mark(NameOf(event), {.domain = domain, .event = event}), 0; });
}
void MarkEx(Event event) {
  MarkOf(nullptr, event);
  Tell(CALL(nvtxMarkEx), nullptr, event);
}
void DomainMarkEx(nvtxDomainHandle_t domain, Event event) {
  MarkOf(domain, event);
  Tell(CALL(nvtxDomainMarkEx), nullptr, domain, event);
}
void NameThreadA(std::uint32_t thread, const char* name) {
  markers::NameThread(thread, TextOf(name));
  Tell(CALL(nvtxNameOsThreadA), nullptr, thread, name);
}
void NameThreadW(std::uint32_t thread, const wchar_t* name) {
  Guard(0, [&] { return markers::NameThread(thread, Utf8(name)), 0; });
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

// Objects of CUDA, by the driver's and by the runtime's names of them.
template <typename Object, void (*Note)(Object, std::string_view) noexcept>
void NameObjectA(Object object, const char* name) {
  Note(object, TextOf(name));
}
template <typename Object, void (*Note)(Object, std::string_view) noexcept>
void NameObjectW(Object object, const wchar_t* name) {
  Guard(0, [&] { return Note(object, Utf8(name)), 0; });
}

// Handles are made from addresses whose names nobody changes.
template <typename Handle>
Handle AsHandle(const std::string* name) {
  return reinterpret_cast<Handle>(const_cast<std::string*>(name));
}
nvtxDomainHandle_t CreateDomainA(const char* name) {
  const auto made = Guard(nvtxDomainHandle_t{nullptr}, [&] {
    return AsHandle<nvtxDomainHandle_t>(markers::Keep(name == nullptr ? "" : name));
  });
  return Told(CALL(nvtxDomainCreateA), made, name);
}
nvtxDomainHandle_t CreateDomainW(const wchar_t* name) {
  const auto made = Guard(nvtxDomainHandle_t{nullptr},
                          [&] { return AsHandle<nvtxDomainHandle_t>(markers::Keep(Utf8(name))); });
  return Told(CALL(nvtxDomainCreateW), made, name);
}
void DestroyDomain(nvtxDomainHandle_t domain) { Tell(CALL(nvtxDomainDestroy), nullptr, domain); }
nvtxStringHandle_t RegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  const auto made = Guard(nvtxStringHandle_t{nullptr}, [&] {
    return AsHandle<nvtxStringHandle_t>(markers::Keep(text == nullptr ? "" : text));
  });
  return Told(CALL(nvtxDomainRegisterStringA), made, domain, text);
}
nvtxStringHandle_t RegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) {
  const auto made = Guard(nvtxStringHandle_t{nullptr},
                          [&] { return AsHandle<nvtxStringHandle_t>(markers::Keep(Utf8(text))); });
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

// Programs that were built without these modules have no such slots.
void AttachNames(const NvtxExportTableCallbacks& callbacks) {
  const auto set = [](Table& table, unsigned first, auto* narrow, auto* wide) {
    table.Set(first, narrow);
    table.Set(first + 1, wide);
  };
  Table driver(callbacks, NVTX_CB_MODULE_CUDA);
  if (driver.found()) {
    set(driver, NVTX_CBID_CUDA_NameCuDeviceA, NameObjectA<int, markers::NameDevice>,
        NameObjectW<int, markers::NameDevice>);
    set(driver, NVTX_CBID_CUDA_NameCuContextA, NameObjectA<CUcontext, markers::NameContext>,
        NameObjectW<CUcontext, markers::NameContext>);
    set(driver, NVTX_CBID_CUDA_NameCuStreamA, NameObjectA<CUstream, markers::NameStream>,
        NameObjectW<CUstream, markers::NameStream>);
  }
  Table runtime(callbacks, NVTX_CB_MODULE_CUDART);
  if (runtime.found()) {
    set(runtime, NVTX_CBID_CUDART_NameCudaDeviceA, NameObjectA<int, markers::NameDevice>,
        NameObjectW<int, markers::NameDevice>);
    set(runtime, NVTX_CBID_CUDART_NameCudaStreamA, NameObjectA<CUstream, markers::NameStream>,
        NameObjectW<CUstream, markers::NameStream>);
  }
}

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
  AttachNames(*callbacks);
  return 1;
}

int AttachExtension(void* /*module*/) noexcept { return 0; }

}  // namespace eidolon::shim::cupti::nvtx
