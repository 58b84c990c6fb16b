#include "shim/gpu/context/foreign_runtime.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace eidolon::shim::gpu {
namespace {

// The facades that stand in for our own major versions have other file names.
constexpr std::string_view kRuntime = "libcudart.so.";
constexpr std::array<std::string_view, 2> kOurMajors = {"12", "13"};

// Refusals are reported by a name that lives for ever, so the majors in the field are listed.
struct Foreign {
  std::string_view major;
  const char* reason;
};
constexpr Foreign kForeign[] = {
    {"10", "libcudart.so.10 (a program built for CUDA 10; this shim stands in for CUDA 12 and 13)"},
    {"11", "libcudart.so.11 (a program built for CUDA 11; this shim stands in for CUDA 12 and 13)"},
    {"14", "libcudart.so.14 (a program built for CUDA 14; this shim stands in for CUDA 12 and 13)"},
};
constexpr const char* kUnknownMajor =
    "libcudart.so (a program built for another CUDA version; this shim stands in for CUDA 12 and "
    "13)";

const char* ReasonOf(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kRuntime)) return nullptr;
  std::string_view major = name.substr(kRuntime.size());
  major = major.substr(0, major.find('.'));
  if (std::ranges::find(kOurMajors, major) != kOurMajors.end()) return nullptr;
  for (const Foreign& foreign : kForeign) {
    if (foreign.major == major) return foreign.reason;
  }
  return kUnknownMajor;
}

const char* Search() noexcept {
  const char* reason = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        const char* found = info->dlpi_name == nullptr ? nullptr : ReasonOf(info->dlpi_name);
        if (found != nullptr) *static_cast<const char**>(out) = found;
        return found != nullptr ? 1 : 0;
      },
      &reason);
  return reason;
}

}  // namespace

const char* ForeignRuntime() noexcept {
  static const char* const reason = Search();
  return reason;
}

}  // namespace eidolon::shim::gpu
