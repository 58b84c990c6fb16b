// A shared library's device code, for tests and benchmarks: every container of a file.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "services/machine_code/cubin/fat_binary.h"

namespace eidolon::cubin {

// A library mapped read only, as the dynamic linker would. Empty when it cannot be read.
class MappedLibrary {
 public:
  explicit MappedLibrary(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (fstat(file, &status) != 0) return;
    size_ = static_cast<std::size_t>(status.st_size);
    base_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
  }
  ~MappedLibrary() {
    if (base_ != nullptr) munmap(base_, size_);
  }
  MappedLibrary(const MappedLibrary&) = delete;
  MappedLibrary& operator=(const MappedLibrary&) = delete;

  // The containers lie one after another, each aligned to 8 bytes.
  std::vector<const std::byte*> Containers() const {
    std::vector<const std::byte*> found;
    const auto* at = static_cast<const std::byte*>(base_);
    const auto* end = at + size_;
    const std::uint32_t magic = kFatBinaryMagic;
    while (base_ != nullptr && at + 16 < end) {
      at = static_cast<const std::byte*>(
          memmem(at, static_cast<std::size_t>(end - at), &magic, sizeof(magic)));
      if (at == nullptr) break;
      const auto size = FatBinaryBytes(at);
      if (reinterpret_cast<std::uintptr_t>(at) % 8 == 0 && size && at + *size <= end &&
          FatBinary::Parse({at, *size})) {
        found.push_back(at);
        at += *size;
      } else {
        at += sizeof(magic);
      }
    }
    return found;
  }

 private:
  void* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace eidolon::cubin
