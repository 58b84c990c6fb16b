#include "shim/cupti/callback_name.h"

#include <iterator>
#include <unordered_map>

namespace eidolon::shim::cupti {
namespace {

struct Row {
  const char* text;
  CUpti_CallbackId id;
};

#define RUNTIME_CALLBACK(name) {#name, CUPTI_RUNTIME_TRACE_CBID_##name},
constexpr Row kRuntime[] = {
#include "shim/cupti/runtime_callbacks.inc"
};
#undef RUNTIME_CALLBACK
#define DRIVER_CALLBACK(name) {#name, CUPTI_DRIVER_TRACE_CBID_##name},
constexpr Row kDriver[] = {
#include "shim/cupti/driver_callbacks.inc"
};
#undef DRIVER_CALLBACK
// A header with further calls needs further rows.
static_assert(kRuntime[std::size(kRuntime) - 1].id == CUPTI_RUNTIME_TRACE_CBID_SIZE - 1);
static_assert(kDriver[std::size(kDriver) - 1].id == CUPTI_DRIVER_TRACE_CBID_SIZE - 1);

// Without the version at its end: "_v7000".
std::string_view Unversioned(std::string_view text) {
  const std::size_t digits = text.find_last_not_of("0123456789");
  const bool has_version = digits != std::string_view::npos && digits + 1 < text.size() &&
                           digits > 0 && text[digits] == 'v' && text[digits - 1] == '_';
  return has_version ? text.substr(0, digits - 1) : text;
}

using Names = std::unordered_map<std::string_view, CallbackName>;

const Names& KnownNames() {
  static const Names& names = *new Names([] {
    Names made;
    for (const Row& row : kRuntime) made[Unversioned(row.text)] = {Api::kRuntime, row.id};
    for (const Row& row : kDriver) made[row.text] = {Api::kDriver, row.id};
    // What code that CUDA 13 compiled calls instead.
    made["__cudaLaunchKernel"] = made["cudaLaunchKernel"];
    made["__cudaLaunchKernel_ptsz"] = made["cudaLaunchKernel_ptsz"];
    return made;
  }());
  return names;
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

}  // namespace

CallbackName NameCall(std::string_view function) {
  if (function.starts_with("cupti")) return {};
  const auto found = KnownNames().find(function);
  if (found != KnownNames().end()) return found->second;
  const bool is_cuda = function.starts_with("cuda") || function.starts_with("__cuda") ||
                       (function.starts_with("cu") && function.size() > 2 && IsUpper(function[2]));
  return {.api = is_cuda ? Api::kNone : Api::kLibrary};
}

const char* CallbackText(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (id == 0) return nullptr;
  const auto find = [&](const auto& rows) -> const char* {
    for (const Row& row : rows) {
      if (row.id == id) return row.text;
    }
    return nullptr;
  };
  switch (domain) {
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return find(kRuntime);
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return find(kDriver);
    default:
      return nullptr;
  }
}

}  // namespace eidolon::shim::cupti
