#include "services/base/hash.h"

#define XXH_INLINE_ALL  // Nothing to link: the shim lives in processes that may hold another
                        // xxHash.
#include <xxhash.h>

namespace eidolon::base {

Digest Hash128(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return {hash.high64, hash.low64};
}

}  // namespace eidolon::base
