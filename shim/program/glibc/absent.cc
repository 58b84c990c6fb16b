// Provides what the static parts of the compiler's libraries take from a glibc that is younger than
// the one the shim promises to run on. Hidden: the user's program keeps its own.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#define EIDOLON_HIDDEN __attribute__((visibility("hidden")))

extern "C" {

// glibc 2.32. "May have several threads" is always right.
EIDOLON_HIDDEN char __libc_single_threaded = 0;

// glibc 2.33; inline before.
EIDOLON_HIDDEN int fstat(int fd, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}

static_assert(sizeof(struct stat) == sizeof(struct stat64));
EIDOLON_HIDDEN int fstat64(int fd, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, fd, out));
}

// glibc 2.36; for std::random_device.
EIDOLON_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// glibc 2.35; for the unwinder, which looked at the program headers before.
EIDOLON_HIDDEN int _dl_find_object(void* address, struct dl_find_object* found) noexcept {
  struct Search {
    std::uintptr_t address;
    dl_find_object* found;
  } search = {reinterpret_cast<std::uintptr_t>(address), found};
  const auto look = [](dl_phdr_info* object, std::size_t, void* data) {
    const Search& wanted = *static_cast<Search*>(data);
    bool inside = false;
    std::uintptr_t frames = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_GNU_EH_FRAME) frames = begin;
      if (part.p_type != PT_LOAD || wanted.address - begin >= part.p_memsz) continue;
      inside = true;
      wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
      wanted.found->dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
    }
    if (!inside || frames == 0) return inside ? 2 : 0;
    wanted.found->dlfo_flags = 0;
    wanted.found->dlfo_link_map = nullptr;
    wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
