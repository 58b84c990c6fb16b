// `eidolon doctor --store`: what a data folder's check has found, for a person to read.
#pragma once

#include <string>
#include <vector>

#include "services/controller/store/store_check.h"

namespace eidolon::cli {

// A line per finding, in columns.
std::string FormatStoreFindings(const std::vector<controller::store::StoreFinding>& findings);
// Something is damaged and was not repaired.
bool HasDamage(const std::vector<controller::store::StoreFinding>& findings);

}  // namespace eidolon::cli
