// The functions of libnvJitLink carry a release in their names, so each is looked up under the
// first release of either major; types and codes are the numbers of nvJitLink.h. A linker without
// all of them counts as missing. The target is the emulated device plus the suffix of the first PTX
// module (sm_90a): code that names an architecture-specific target may use instructions which the
// plain target refuses. The linker may look at its inputs again later, so they stay here, each with
// a zero behind it. It silently leaves out a cubin that is executable already, so such an input is
// passed through when it is alone and refused otherwise.
#include "shim/api/link/linkage.h"

#include <elf.h>

#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <utility>

#include "services/base/text.h"
#include "shim/api/real_library.h"

namespace eidolon::shim::link {
namespace {

using base::StrCat;

constinit api::RealLibrary real("libnvJitLink.so.13", "libnvJitLink.so.12");

// A function of the library under the name that the first release of either major gave it, as
// nvJitLink.h declares it. Codes are 0 for success.
template <typename Function>
Function* Find(const char* name) {
  for (const char* release : {"_13_0", "_12_0"}) {
    auto* function = api::FindReal<Function>(real, StrCat("__nvJitLink", name, release).c_str());
    if (function != nullptr) return function;
  }
  return nullptr;
}

struct Linker {
  int (*create)(void** handle, std::uint32_t count,
                const char** options) = Find<int(void**, std::uint32_t, const char**)>("Create");
  int (*destroy)(void** handle) = Find<int(void**)>("Destroy");
  int (*add)(void* handle, int type, const void* data, std::size_t bytes, const char* name) =
      Find<int(void*, int, const void*, std::size_t, const char*)>("AddData");
  int (*complete)(void* handle) = Find<int(void*)>("Complete");
  int (*code_bytes)(void* handle,
                    std::size_t* bytes) = Find<int(void*, std::size_t*)>("GetLinkedCubinSize");
  int (*code)(void* handle, void* code) = Find<int(void*, void*)>("GetLinkedCubin");
  int (*errors_bytes)(void* handle,
                      std::size_t* bytes) = Find<int(void*, std::size_t*)>("GetErrorLogSize");
  int (*errors)(void* handle, char* text) = Find<int(void*, char*)>("GetErrorLog");
  int (*remarks_bytes)(void* handle,
                       std::size_t* bytes) = Find<int(void*, std::size_t*)>("GetInfoLogSize");
  int (*remarks)(void* handle, char* text) = Find<int(void*, char*)>("GetInfoLog");

  bool IsWhole() const {
    return create != nullptr && destroy != nullptr && add != nullptr && complete != nullptr &&
           code_bytes != nullptr && code != nullptr && errors_bytes != nullptr &&
           errors != nullptr && remarks_bytes != nullptr && remarks != nullptr;
  }
};

// Null where there is none: asked again then, for a program may load its libraries later.
const Linker* FindLinker() {
  static constinit std::atomic<const Linker*> kept = nullptr;
  const Linker* linker = kept.load(std::memory_order_acquire);
  if (linker != nullptr) return linker;
  const Linker found;
  if (!found.IsWhole()) return nullptr;
  linker = new Linker(found);  // Twice by two threads is harmless.
  kept.store(linker, std::memory_order_release);
  return linker;
}

// nvJitLinkInputType.
int TypeOf(Input kind) {
  switch (kind) {
    case Input::kCubin:
      return 1;
    case Input::kPtx:
      return 2;
    case Input::kFatBinary:
      return 4;
    case Input::kObject:
      return 5;
    case Input::kLibrary:
      return 6;
  }
  return 0;
}

// The suffix of the target that a PTX module is for: "a" in ".target sm_90a".
std::string SuffixOf(std::string_view ptx) {
  constexpr std::string_view kTarget = ".target";
  const std::size_t at = ptx.find(kTarget);
  if (at == std::string_view::npos) return "";
  std::size_t end = ptx.find_first_of("0123456789", at);
  if (end == std::string_view::npos) return "";
  while (end < ptx.size() && std::isdigit(static_cast<unsigned char>(ptx[end])) != 0) ++end;
  const bool has_suffix = end < ptx.size() && (ptx[end] == 'a' || ptx[end] == 'f');
  return has_suffix ? std::string(1, ptx[end]) : "";
}

bool IsExecutable(std::span<const std::byte> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_EXEC;
}

std::string ReadText(void* handle, int (*size_of)(void*, std::size_t*), int (*read)(void*, char*)) {
  std::size_t bytes = 0;
  if (size_of(handle, &bytes) != 0 || bytes == 0) return "";
  std::string text(bytes, '\0');
  if (read(handle, text.data()) != 0) return "";
  text.resize(std::strlen(text.c_str()));
  return text;
}

}  // namespace

bool IsThere() noexcept {
  try {
    return FindLinker() != nullptr;
  } catch (...) {  // Out of memory.
    return false;
  }
}

Linkage::Linkage(cubin::Capability device, const Settings& settings)
    : device_(device), settings_(settings) {}

Linkage::~Linkage() {
  if (handle_ != nullptr) FindLinker()->destroy(&handle_);
}

// The target is that of the device, with the suffix of the first module, which may use what only
// that has.
Outcome Linkage::Start(std::string_view first_ptx) {
  const Linker* const linker = FindLinker();
  if (linker == nullptr) {
    errors_ = kMissing;
    return Outcome::kNoLinker;
  }
  if (handle_ != nullptr) return Outcome::kDone;
  std::vector<std::string> words = {
      StrCat("-arch=sm_", device_.number(), first_ptx.empty() ? "" : SuffixOf(first_ptx))};
  if (settings_.registers_max != 0) {
    words.push_back(StrCat("-maxrregcount=", settings_.registers_max));
  }
  if (settings_.optimization) words.push_back(StrCat("-O", *settings_.optimization));
  if (settings_.debug_info) words.emplace_back("-g");
  if (settings_.line_info) words.emplace_back("-lineinfo");
  if (settings_.verbose) words.emplace_back("-verbose");
  std::vector<const char*> options;
  for (const std::string& word : words) options.push_back(word.c_str());
  const auto count = static_cast<std::uint32_t>(options.size());
  if (linker->create(&handle_, count, options.data()) == 0) return Outcome::kDone;
  errors_ = StrCat("libnvJitLink refuses ", base::Join(words, " "), "\n");
  handle_ = nullptr;
  return Outcome::kInvalid;
}

Outcome Linkage::Add(Input kind, std::span<const std::byte> bytes, const std::string& name) {
  std::string_view text;
  if (kind == Input::kPtx) text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (const Outcome outcome = Start(text); outcome != Outcome::kDone) return outcome;
  Given& given = inputs_.emplace_back(name, std::vector(bytes.begin(), bytes.end()));
  given.bytes.push_back(std::byte{0});
  if (kind == Input::kCubin && IsExecutable(bytes)) {
    // The linker takes it and leaves it out.
    executable_.assign(bytes.begin(), bytes.end());
    return Outcome::kDone;
  }
  const int code = FindLinker()->add(handle_, TypeOf(kind), given.bytes.data(), bytes.size(),
                                     given.name.c_str());
  ReadLogs();
  return code == 0 ? Outcome::kDone : Outcome::kInvalid;
}

Outcome Linkage::Complete() {
  if (const Outcome outcome = Start(""); outcome != Outcome::kDone) return outcome;
  if (!executable_.empty()) {
    if (inputs_.size() > 1) {
      errors_ += "one of several inputs is linked already: compile it as relocatable code\n";
      return Outcome::kInvalid;
    }
    code_ = std::move(executable_);
    return Outcome::kDone;
  }
  const Linker& linker = *FindLinker();
  const int code = linker.complete(handle_);
  ReadLogs();
  std::size_t bytes = 0;
  if (code != 0 || linker.code_bytes(handle_, &bytes) != 0) return Outcome::kInvalid;
  code_.resize(bytes);
  return linker.code(handle_, code_.data()) == 0 ? Outcome::kDone : Outcome::kInvalid;
}

void Linkage::ReadLogs() {
  const Linker& linker = *FindLinker();
  errors_ = ReadText(handle_, linker.errors_bytes, linker.errors);
  remarks_ = ReadText(handle_, linker.remarks_bytes, linker.remarks);
}

}  // namespace eidolon::shim::link
