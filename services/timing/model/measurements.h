// Interface of measured profiles for the estimator. Implemented by the profile folder; a service
// without profiles passes none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "services/base/hash.h"
#include "services/base/sim_time.h"

namespace eidolon::timing::model {

// Kept of a measurement that the launch gap swallows. It answers for that work alone: its
// logarithm says nothing about works of other sizes.
inline constexpr base::Duration kWithinLaunchGap{1};

struct Measurement {
  base::Duration median;
  double spread = 0;  // Relative.
};

// A measured neighbour: its size and duration.
struct Neighbour {
  double size = 0;
  base::Duration median;
};

// Thread safe.
class Measurements {
 public:
  virtual ~Measurements() = default;
  virtual std::optional<Measurement> Find(const std::string& gpu, base::Digest key) const = 0;
  // All points of a class on this GPU model, by rising size.
  virtual std::vector<Neighbour> Class(const std::string& gpu, base::Digest key) const = 0;
};

}  // namespace eidolon::timing::model
