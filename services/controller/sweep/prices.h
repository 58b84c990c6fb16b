// The prices of a sweep or search: what an hour of each GPU model costs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "services/controller/job/fields.h"

namespace eidolon::controller::sweep {

using Prices = std::vector<std::pair<std::string, double>>;  // Of an hour of a GPU, by model.

// Returns the entries of the map "price"; wrong ones are reported to the fields and left out.
Prices ReadPrices(job::Fields* fields);

}  // namespace eidolon::controller::sweep
