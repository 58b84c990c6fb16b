// Finds the folder where this user's programs keep what they can make again.
#pragma once

#include <string>

namespace eidolon::base {

// ~/.cache/eidolon, or below XDG_CACHE_HOME; empty without a home. It may not be there.
std::string CacheFolder();

}  // namespace eidolon::base
