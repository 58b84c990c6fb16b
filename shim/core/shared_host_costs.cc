#include "shim/core/shared_host_costs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "shim/core/server_page.h"

namespace eidolon::shim::core {

ring::SharedHostCost* MapSharedHostCosts() noexcept {
  const char* directory = RunDirectory();
  if (directory == nullptr) return nullptr;
  char path[4096];
  const int length = std::snprintf(path, sizeof(path), "%s/host.costs", directory);
  if (length < 0 || length >= static_cast<int>(sizeof(path))) return nullptr;
  const int file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  void* mapped = MAP_FAILED;
  if (fstat(file, &status) == 0 &&
      status.st_size == static_cast<off_t>(ring::kSharedHostCostBytes)) {
    mapped = mmap(nullptr, ring::kSharedHostCostBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<ring::SharedHostCost*>(mapped);
}

}  // namespace eidolon::shim::core
