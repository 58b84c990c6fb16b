#include "shim/vendor/cuda_driver/lookup.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "shim/vendor/cuda_driver/vendor.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace eidolon::shim::cuda_driver {
namespace {

struct Entry {
  std::string_view name;
  int version;
  bool per_thread;
  void (*function)();
};

// Sorted by name, then plain before per-thread variants, then by version: apigen's order.
const Entry kEntries[] = {
#define LOOKUP(base, version, per_thread, symbol) \
  {#base, version, per_thread, reinterpret_cast<void (*)()>(&symbol)},
#include "shim/vendor/cuda_driver/lookup.inc"
#undef LOOKUP
};

struct ByName {
  bool operator()(const Entry& entry, std::string_view name) const { return entry.name < name; }
  bool operator()(std::string_view name, const Entry& entry) const { return name < entry.name; }
};

}  // namespace

FoundFunction FindDriverFunction(std::string_view name, int cuda_version,
                                 bool per_thread) noexcept {
  const auto [first, last] =
      std::equal_range(std::begin(kEntries), std::end(kEntries), name, ByName{});
  const Entry* best = nullptr;
  for (const Entry& entry : std::span(first, last)) {
    if (entry.version > cuda_version || (entry.per_thread && !per_thread)) continue;
    best = &entry;  // Per-thread variants stand last, so they win where they are allowed.
  }
  if (best == nullptr) return {.version_too_old = first != last};
  return {.address = reinterpret_cast<void*>(best->function)};
}

}  // namespace eidolon::shim::cuda_driver
