// Fills values of parameters into a job: "--tensor ${tp}".
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/controller/job/problem.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::search {

// The values of each parameter.
using Space = std::vector<std::pair<std::string, std::vector<nlohmann::json>>>;

// Reports what is wrong with the placeholders of a job's spec at `pointer`: names that are not a
// parameter, places where nothing is filled in, and parameters of several values without a
// placeholder that are not in `used`.
void CheckPlaceholders(const nlohmann::json& job, const std::string& pointer, const Space& space,
                       std::span<const std::string> used, job::Problems* problems);

// Returns whether a value of the parameter is filled in somewhere.
bool IsNamed(const nlohmann::json& job, const std::string& parameter);

// The spec with each ${NAME} replaced by the value of NAME, and "$${" by "${". Words of the command
// and values of the environment stay texts; elsewhere a field that is only a placeholder takes the
// value's own type.
nlohmann::json FillJob(nlohmann::json job, const sweep::SweepPoint& values);

}  // namespace eidolon::controller::search
