// The secret that users of embedded mode show: made at the first start, kept in the data folder,
// readable by its owner alone.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::controller::store {

// Reads the file, or makes it. A file that others may read is refused as a secret that is none any
// more: the error says to remove it.
base::Result<std::string> LoadAccessToken(const std::string& path);

}  // namespace eidolon::controller::store
