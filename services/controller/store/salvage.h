// Saves the rows of a database whose pages are damaged into a new one.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/error.h"

namespace eidolon::controller::store {

struct Salvaged {
  std::int64_t rows = 0;
  std::string aside;  // Where the damaged file is now.
};

// Copies every row that can be read to a new file, and exchanges the two; the damaged one goes to
// FOLDER/damaged. Rows are copied with their checksums, so damaged ones stay recognisable.
// `uid_min`: uids of new jobs and sweeps are above it. Requires: nobody has the file open.
base::Result<Salvaged> Salvage(const std::string& folder, std::int64_t uid_min);

}  // namespace eidolon::controller::store
