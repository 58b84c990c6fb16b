#include "services/agent/ring/host_cost_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "services/agent/ring/seal.h"
#include "services/base/text.h"
#include "services/contract/ring/shared_host_costs.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

Result<HostCostFile> HostCostFile::Create(const std::string& run_directory) {
  HostCostFile result(memfd_create("eidolon-host-costs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Memory that is found missing later ends whoever touches it.
  constexpr auto kBytes = static_cast<off_t>(::eidolon::ring::kSharedHostCostBytes);
  const int missing = result.file_ < 0 ? errno : posix_fallocate(result.file_, 0, kBytes);
  if (missing != 0) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("shared memory for costs of host work: ", std::strerror(missing)));
  }
  if (auto done = Seal(result.file_, Sealed::kSize); !done) return std::unexpected(done.error());
  const std::string link = StrCat(run_directory, "/host.costs");
  const std::string target = StrCat("/proc/", getpid(), "/fd/", result.file_);
  unlink(link.c_str());
  if (symlink(target.c_str(), link.c_str()) != 0) {
    return Fail(ErrorCode::kInternal, StrCat("making '", link, "': ", std::strerror(errno)));
  }
  return result;
}

HostCostFile::HostCostFile(HostCostFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

HostCostFile& HostCostFile::operator=(HostCostFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

HostCostFile::~HostCostFile() {
  if (file_ >= 0) close(file_);
}

}  // namespace eidolon::agent::ring
