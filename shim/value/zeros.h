// Chooses the host values of bytes whose values are unknown. Stateless; any thread.
#pragma once

#include <cstddef>

namespace eidolon::shim::value {

// Bytes from which on private memory is given back to the kernel instead of being written.
inline constexpr std::size_t kZeroPagesFrom = std::size_t{1} << 20;

// Sets `size` bytes to `value`. Many zeros in private anonymous memory (a program's own copy of
// weights or of optimizer states) take no memory of this machine until the program writes there:
// the kernel gives zeros for pages that it took back (madvise(2), MADV_DONTNEED). Other memory is
// written.
void FillUnknown(void* bytes, std::size_t size, unsigned char value);

}  // namespace eidolon::shim::value
