// A job in a list of many: what a row shows, in some hundred bytes whatever the job holds.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace eidolon::controller::job {

// The parts of a complete document that a list of jobs shows, under the same names: of the metadata
// what identifies the object and its labels; of the spec the command and what names the cluster; of
// the status the phase, the last true condition, progress, cost, and of the prediction its times,
// rates, target and fullest rank. Long texts and lists are cut.
// `status`: of the document. Fields of another shape than ours are left out.
nlohmann::json SummaryOf(const nlohmann::json& document, const nlohmann::json& status);

}  // namespace eidolon::controller::job
