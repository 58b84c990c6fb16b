#include "shim/core/server_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace eidolon::shim::core {
namespace {

// Published once; kMissing stands for a remembered failure.
constinit std::atomic<const ring::ServerPage*> page{nullptr};
const ring::ServerPage* const kMissing = reinterpret_cast<const ring::ServerPage*>(1);

const ring::ServerPage* MapPage() noexcept {
  const char* directory = RunDirectory();
  if (directory == nullptr) return kMissing;
  char path[4096];
  const int length = std::snprintf(path, sizeof(path), "%s/server.page", directory);
  if (length < 0 || length >= static_cast<int>(sizeof(path))) return kMissing;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return kMissing;
  void* mapped = mmap(nullptr, ring::kServerPageBytes, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return kMissing;
  const auto* result = static_cast<const ring::ServerPage*>(mapped);
  if (result->magic != ring::kMagic || result->version != ring::kVersion) {
    munmap(mapped, ring::kServerPageBytes);
    return kMissing;
  }
  return result;
}

}  // namespace

const char* RunDirectory() noexcept {
  const char* directory = std::getenv("EIDOLON_RUN_DIR");
  return directory != nullptr && directory[0] != '\0' ? directory : nullptr;
}

const ring::ServerPage* MappedServerPage() noexcept {
  const ring::ServerPage* known = page.load(std::memory_order_acquire);
  if (known == nullptr) {
    // Threads that race here map the page twice; one mapping wins, the other is a spare page.
    const ring::ServerPage* fresh = MapPage();
    if (page.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) known = fresh;
  }
  return known == kMissing ? nullptr : known;
}

}  // namespace eidolon::shim::core
