#include "services/agent/ring/seal.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "services/base/text.h"

namespace eidolon::agent::ring {

base::Result<void> Seal(int memory_file, Sealed what) {
  constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  const int wanted = what == Sealed::kSize ? kSize : kSize | F_SEAL_FUTURE_WRITE;
  if (fcntl(memory_file, F_ADD_SEALS, wanted) == 0) return {};
  if (errno == EINVAL && fcntl(memory_file, F_ADD_SEALS, kSize) == 0) return {};
  return base::Fail(
      base::ErrorCode::kUnsupported,
      base::StrCat("sealing shared memory, which needs Linux 3.17: ", std::strerror(errno)));
}

}  // namespace eidolon::agent::ring
