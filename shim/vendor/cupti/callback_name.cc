// CUPTI numbers every function of the runtime and the driver. The rows are one list of names for
// each, from which the preprocessor makes both the number and the text; the assertions fail when a
// newer header has more calls than the lists. The header's runtime names end in a version
// ("_v7000"), which exported functions lack. Later rows replace earlier ones of the same name, so
// the newest version wins. A function that neither list has is a library's, unless its name looks
// like CUDA's own.
#include "shim/vendor/cupti/callback_name.h"

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
#include "shim/vendor/cupti/runtime_callbacks.inc"
};
#undef RUNTIME_CALLBACK
#define DRIVER_CALLBACK(name) {#name, CUPTI_DRIVER_TRACE_CBID_##name},
constexpr Row kDriver[] = {
#include "shim/vendor/cupti/driver_callbacks.inc"
};
#undef DRIVER_CALLBACK
// A header with further calls needs further rows.
static_assert(kRuntime[std::size(kRuntime) - 1].id == CUPTI_RUNTIME_TRACE_CBID_SIZE - 1);
static_assert(kDriver[std::size(kDriver) - 1].id == CUPTI_DRIVER_TRACE_CBID_SIZE - 1);

// Removes the version at its end: "_v7000".
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
    // Code that CUDA 13 compiled calls this instead.
    made["__cudaLaunchKernel"] = made["cudaLaunchKernel"];
    made["__cudaLaunchKernel_ptsz"] = made["cudaLaunchKernel_ptsz"];
    return made;
  }());
  return names;
}

bool IsResourceTold(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_INVALID:
    case CUPTI_CBID_RESOURCE_MODULE_PROFILED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING:
    case CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS:
      return false;
    default:
      return id < CUPTI_CBID_RESOURCE_SIZE;
  }
}

// Names of CUDA's objects, resources and locks are not.
bool IsNvtxTold(CUpti_CallbackId id) {
  return (id >= CUPTI_CBID_NVTX_nvtxMarkA && id <= CUPTI_CBID_NVTX_nvtxNameOsThreadW) ||
         (id >= CUPTI_CBID_NVTX_nvtxDomainMarkEx && id <= CUPTI_CBID_NVTX_nvtxDomainRangePop) ||
         (id >= CUPTI_CBID_NVTX_nvtxDomainNameCategoryA && id <= CUPTI_CBID_NVTX_nvtxDomainDestroy);
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

CUpti_CallbackId CallbackCount(CUpti_CallbackDomain domain) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      return CUPTI_DRIVER_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return CUPTI_RUNTIME_TRACE_CBID_SIZE;
    case CUPTI_CB_DOMAIN_RESOURCE:
      return CUPTI_CBID_RESOURCE_SIZE;
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
      return CUPTI_CBID_SYNCHRONIZE_SIZE;
    case CUPTI_CB_DOMAIN_NVTX:
      return CUPTI_CBID_NVTX_SIZE;
    case CUPTI_CB_DOMAIN_STATE:
      return CUPTI_CBID_STATE_SIZE;
    default:
      return 0;
  }
}

bool IsTold(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_RESOURCE:
      return IsResourceTold(id);
    case CUPTI_CB_DOMAIN_NVTX:
      return IsNvtxTold(id);
    default:
      return id != 0 && id < CallbackCount(domain);
  }
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
