#include "shim/core/page_fault_cost.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constexpr std::size_t kPages = 64;
constexpr std::size_t kPageBytes = 4096;
constexpr int kRounds = 3;

// 0: there was no memory.
std::uint64_t TimeOneRoundPs() {
  constexpr std::size_t kBytes = kPages * kPageBytes;
  const long mapped = RawSyscall(SYS_mmap, 0, static_cast<long>(kBytes), PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped < 0) return 0;
  // Pages as a program's allocator gets them, not one of 2 MiB.
  RawSyscall(SYS_madvise, mapped, static_cast<long>(kBytes), MADV_NOHUGEPAGE);
  auto* const bytes = reinterpret_cast<volatile std::byte*>(mapped);
  const std::int64_t begin = ThreadCpuNs();
  for (std::size_t page = 0; page < kPages; ++page) bytes[page * kPageBytes] = std::byte{1};
  const std::int64_t took_ns = ThreadCpuNs() - begin;
  RawSyscall(SYS_munmap, mapped, static_cast<long>(kBytes));
  return static_cast<std::uint64_t>(std::max<std::int64_t>(took_ns, 1)) * 1000 / kPages;
}

}  // namespace

std::uint64_t MeasurePageFaultPs() noexcept {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t ps = TimeOneRoundPs();
    if (ps == 0) return 0;
    least = std::min(least, ps);
  }
  return least;
}

}  // namespace eidolon::shim::core
