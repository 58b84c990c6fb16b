// Classes that a folded job has shown to have while it ran: what it starts again with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/controller/job/run.h"

namespace eidolon::controller::job {

struct FoundClasses {
  std::vector<folding::Dimension> dimensions;  // That tell classes apart: known before, and new.
  std::string message;                         // Why the job starts again.
};

// Of a run that was judged so, told `known` dimensions, and has shown that ranks differ by those of
// `differ_by`. Nothing when the verdict stands: nothing new was found, or more than meshes have.
std::optional<FoundClasses> FindClasses(const Verdict& verdict,
                                        std::span<const folding::Dimension> known,
                                        std::span<const folding::Dimension> differ_by);

// As the status of a job on Kubernetes keeps them; entries of another shape are left out.
nlohmann::json ToJson(std::span<const folding::Dimension> dimensions);
std::vector<folding::Dimension> DimensionsFromJson(const nlohmann::json& list);

}  // namespace eidolon::controller::job
