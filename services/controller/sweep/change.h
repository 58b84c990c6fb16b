// Changes of a sweep that exists, by a merge patch (RFC 7396). Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "services/controller/job/job.h"
#include "services/controller/job/problem.h"

namespace eidolon::controller::sweep {

// Changes of an acceptable patch, of the fields that may change.
struct SweepChange {
  nlohmann::json patch = nlohmann::json::object();
  bool of_spec = false;  // It changes spec.suspend or spec.concurrency.
  job::Problems problems;
};

// spec.suspend, spec.concurrency, labels and annotations may change. Other fields may be in the
// patch as they are; each that differs is a problem.
SweepChange ReadSweepChange(const nlohmann::json& sweep, const nlohmann::json& patch,
                            job::Mode mode);

// Stands for all that cannot change in the spec of a sweep: equal while that is the same.
std::string FixedDigestOf(const nlohmann::json& sweep);

}  // namespace eidolon::controller::sweep
