// Which build of the shim this is, for what it keeps in files: another build may conclude otherwise
// from the same code.
#pragma once

#include "services/base/hash.h"

namespace eidolon::shim::core {

// Returns the build id that the linker gave the library or program that this is part of; zero when
// it has none.
base::Digest BuildIdentity() noexcept;

}  // namespace eidolon::shim::core
