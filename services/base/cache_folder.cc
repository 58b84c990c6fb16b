#include "services/base/cache_folder.h"

#include <cstdlib>

namespace eidolon::base {

std::string CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/eidolon";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/eidolon" : "";
}

}  // namespace eidolon::base
