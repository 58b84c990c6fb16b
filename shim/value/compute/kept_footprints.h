// Footprints that this or another process has learned, in a folder that processes share: a file for
// each kernel's code, shape and set of pointers, with the conditions under which each footprint
// holds.
//
// A file is used only when it is this user's, whole, of this build of the shim, and of the key that
// its name says; others are passed over, set aside for the agent to count, and written anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/hash.h"
#include "shim/value/compute/condition.h"
#include "shim/value/compute/footprint.h"
#include "shim/value/compute/learning.h"

namespace eidolon::shim::compute {

// Returns what footprints depend on beside their conditions. `code`: of the cubin. `pointers` of
// the learning's launch are told by their places.
base::Digest KeyOf(base::Digest code, std::string_view kernel, const Learning& learning);

struct KeptFootprint {
  Condition condition;
  Footprint footprint;         // Without variables, whose places differ between processes.
  bool all_variables = false;  // All of the module's belong to it.
};

// Thread safe: it holds no state.
class KeptFootprints {
 public:
  // An empty folder, or no identity of the build: nothing is kept.
  KeptFootprints(std::string folder, base::Digest build)
      : folder_(build == base::Digest{} ? "" : std::move(folder)), build_(build) {}

  // All of a key. `pointers`: how many its launches have; footprints that name others are damage.
  std::vector<KeptFootprint> Load(base::Digest key, std::size_t pointers) const;
  // Adds one to those that are there. Of two processes that add at once one may lose: then it is
  // learned again. Files appear by renaming.
  void Add(base::Digest key, std::size_t pointers, KeptFootprint footprint) const;

  static constexpr std::size_t kMostOfKey = 32;
  static constexpr std::size_t kMostBytes = 1 << 20;  // Of a file.

 private:
  std::string PathOf(base::Digest key) const;

  const std::string folder_;
  const base::Digest build_;
};

// The bytes of a file, and what they say; nothing for bytes that Format does not make.
std::vector<std::byte> Format(base::Digest build, base::Digest key,
                              std::span<const KeptFootprint> footprints);
std::optional<std::vector<KeptFootprint>> Parse(std::span<const std::byte> bytes,
                                                base::Digest build, base::Digest key,
                                                std::size_t pointers);

// Returns those of the folder that the agent names to the server's processes (EIDOLON_INDEX_DIR).
const KeptFootprints& ProcessKeptFootprints();

}  // namespace eidolon::shim::compute
