#include "services/controller/job/class_check.h"

#include <map>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::job {

namespace {

using base::StrCat;

constexpr std::uint64_t kParts = 100;  // A difference counts from one of these on.

// The least and the most of a class.
struct Extremes {
  const RankMemory* least = nullptr;
  const RankMemory* most = nullptr;
};

// A rank between the two, which tells where the class splits; the upper one for neighbours.
std::int32_t Between(std::int32_t a, std::int32_t b) { return (a + b + 1) / 2; }

}  // namespace

std::vector<std::string> MemoryWarnings(const folding::Fold& fold,
                                        std::span<const RankMemory> memory) {
  std::vector<std::string> warnings;
  if (!fold.is_folded()) return warnings;
  std::map<std::uint32_t, Extremes> classes;
  for (const RankMemory& one : memory) {
    if (one.rank < 0 || static_cast<std::uint32_t>(one.rank) >= fold.ranks()) continue;
    Extremes& extremes = classes[fold.ClassOf(static_cast<std::uint32_t>(one.rank))];
    if (extremes.least == nullptr || one.peak_bytes < extremes.least->peak_bytes) {
      extremes.least = &one;
    }
    if (extremes.most == nullptr || one.peak_bytes > extremes.most->peak_bytes) {
      extremes.most = &one;
    }
  }
  for (const auto& [number, extremes] : classes) {
    const auto& [least, most] = extremes;
    if (most->peak_bytes - least->peak_bytes <= most->peak_bytes / kParts) continue;
    warnings.push_back(StrCat("ranks ", least->rank, " and ", most->rank,
                              " are taken to be alike, but have peaks of ", least->peak_bytes >> 20,
                              " and ", most->peak_bytes >> 20,
                              " MiB of memory: the ranks that are mirrored from them may be like "
                              "either; make one between "
                              "them live to see (--live ",
                              Between(least->rank, most->rank), ")"));
  }
  return warnings;
}

}  // namespace eidolon::controller::job
