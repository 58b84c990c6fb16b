#include "shim/value/zeros.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace eidolon::shim::value {

namespace {

// Returns whether the kernel took the pages back. MADV_FREE refuses whatever is not private and
// anonymous, which MADV_DONTNEED would leave as its file has it; a part that was freed before the
// refusal is written by the caller.
bool ReturnsToKernel(void* pages, std::size_t size) {
  return madvise(pages, size, MADV_FREE) == 0 && madvise(pages, size, MADV_DONTNEED) == 0;
}

}  // namespace

void FillUnknown(void* bytes, std::size_t size, unsigned char value) {
  auto* const begin = static_cast<unsigned char*>(bytes);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t head = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (value != 0 || size < kZeroPagesFrom || size < head + page) {
    std::memset(bytes, value, size);
    return;
  }
  const std::size_t whole = (size - head) / page * page;
  const int before = errno;
  const bool returned = ReturnsToKernel(begin + head, whole);
  errno = before;
  if (!returned) {
    std::memset(bytes, 0, size);
    return;
  }
  std::memset(begin, 0, head);
  std::memset(begin + head + whole, 0, size - head - whole);
}

}  // namespace eidolon::shim::value
