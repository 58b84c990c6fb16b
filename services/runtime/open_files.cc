#include "services/runtime/open_files.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::runtime {

std::optional<std::uint64_t> RaiseOpenFiles() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) {
    return std::nullopt;
  }
  const std::uint64_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return before;
  base::Log(base::Level::kWarning, "open_files_not_raised",
            {{"limit", base::StrCat(before)}, {"reason", std::strerror(errno)}});
  return std::nullopt;
}

}  // namespace eidolon::runtime
