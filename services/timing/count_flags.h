// The flags of counting kernels, for the programs that the timing service runs in.
#pragma once

#include <string>

#include "services/timing/timing_service.h"

namespace CLI {
class App;
}

namespace eidolon::timing {

struct CountFlags {
  bool all = false;    // Counting::kAll.
  std::string folder;  // Where counts are kept.
};

// ~/.cache/eidolon/kernels, or below XDG_CACHE_HOME; empty without a home.
std::string DefaultCountFolder();

// `flags` outlives the parsing.
void AddCountFlags(CLI::App* app, CountFlags* flags);

inline Counting CountingOf(const CountFlags& flags) {
  return flags.all ? Counting::kAll : Counting::kAssumed;
}

}  // namespace eidolon::timing
