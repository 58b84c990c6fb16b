// Puts spans that may overlap into lanes: Perfetto's tracks hold slices that are nested or follow
// each other. Branches of a CUDA graph overlap in one stream, and so do calls of several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::agent::timeline {

enum class Nesting : std::uint8_t {
  kNone,     // Spans of a lane follow each other.
  kAllowed,  // A span may also lie within another one.
};

// One track's lanes. Not thread safe.
class Lanes {
 public:
  explicit Lanes(Nesting nesting) : nesting_(nesting) {}

  // The first lane that has room. Spans come in the order of their starts, longer ones first.
  std::size_t Place(base::SimTime start, base::SimTime end);
  std::size_t count() const { return lanes_.size(); }

 private:
  bool Fits(std::vector<base::SimTime>* open, base::SimTime start, base::SimTime end) const;

  Nesting nesting_;
  std::vector<std::vector<base::SimTime>> lanes_;  // Of each, the ends of its open spans.
};

}  // namespace eidolon::agent::timeline
