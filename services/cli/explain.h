// Explains a field of a job or a cluster from the schema that the REST interface publishes.
#pragma once

#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::cli {

// `field` is a path such as "job.spec.iterations.warmup" or "cluster.spec.server"; `schema` is an
// OpenAPI document. The text names the type, what is allowed and the fields below. A name that is
// not there fails with the nearest one.
base::Result<std::string> Explain(std::string_view schema, const std::string& field);

}  // namespace eidolon::cli
