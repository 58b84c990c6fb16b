// Answers whether a GPU's device files are there. Programs look before they call the driver (JAX
// takes the processor without /dev/nvidiactl and /dev/nvidia0), so inside a job questions about
// these exact paths are answered as on a server with a GPU. The files cannot be opened: only the
// driver does so, and the driver is ours. Every other path is libc's affair.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>

#include "shim/core/file_question.h"
#include "shim/core/server_page.h"

#define EIDOLON_PROCESS_EXPORT extern "C" __attribute__((visibility("default")))

namespace core = eidolon::shim::core;

namespace {

struct DeviceFile {
  const char* path;
  unsigned minor;  // As NVIDIA's driver numbers them.
};
// Device files that every server with a GPU has.
constexpr DeviceFile kDeviceFiles[] = {
    {"/dev/nvidiactl", 255}, {"/dev/nvidia0", 0}, {"/dev/nvidia-uvm", 0}};
constexpr unsigned kMajor = 195;
constexpr mode_t kMode = S_IFCHR | 0666;

// Null: another path, or no job.
const DeviceFile* Find(const char* path) {
  core::NoteFileQuestion();
  if (path == nullptr || strncmp(path, "/dev/nvidia", 11) != 0) return nullptr;
  if (core::RunDirectory() == nullptr) return nullptr;
  const auto* found = std::ranges::find_if(
      kDeviceFiles, [&](const DeviceFile& file) { return strcmp(file.path, path) == 0; });
  return found == std::end(kDeviceFiles) ? nullptr : found;
}

int Describe(const DeviceFile& file, struct stat* out) {
  *out = {};
  out->st_mode = kMode;
  out->st_nlink = 1;
  out->st_rdev = makedev(kMajor, file.minor);
  out->st_blksize = 4096;
  return 0;
}

int Describe(const DeviceFile& file, struct statx* out) {
  *out = {};
  out->stx_mask = STATX_BASIC_STATS;
  out->stx_mode = kMode;
  out->stx_nlink = 1;
  out->stx_rdev_major = kMajor;
  out->stx_rdev_minor = file.minor;
  out->stx_blksize = 4096;
  return 0;
}

template <std::size_t size>
struct Name {
  consteval Name(const char (&from)[size]) { std::ranges::copy(from, text); }  // NOLINT: converts.
  char text[size];
};

// libc's function behind our export.
template <Name name, typename... Arguments>
int CallNext(Arguments... arguments) {
  static constinit std::atomic<void*> place;  // These are called often.
  void* found = place.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = dlsym(RTLD_NEXT, name.text);
    place.store(found, std::memory_order_relaxed);
  }
  if (found == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  return reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
}

// The same structure, on 64-bit machines.
static_assert(sizeof(struct stat) == sizeof(struct stat64));
struct stat* Plain(struct stat64* out) {
  return reinterpret_cast<struct stat*>(out);
}

}  // namespace

EIDOLON_PROCESS_EXPORT int stat(const char* path, struct stat* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, out);
  return CallNext<"stat">(path, out);
}

EIDOLON_PROCESS_EXPORT int stat64(const char* path, struct stat64* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, Plain(out));
  return CallNext<"stat64">(path, out);
}

EIDOLON_PROCESS_EXPORT int lstat(const char* path, struct stat* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, out);
  return CallNext<"lstat">(path, out);
}

EIDOLON_PROCESS_EXPORT int lstat64(const char* path, struct stat64* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, Plain(out));
  return CallNext<"lstat64">(path, out);
}

EIDOLON_PROCESS_EXPORT int fstatat(int folder, const char* path, struct stat* out,
                                   int flags) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, out);
  return CallNext<"fstatat">(folder, path, out, flags);
}

EIDOLON_PROCESS_EXPORT int fstatat64(int folder, const char* path, struct stat64* out,
                                     int flags) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, Plain(out));
  return CallNext<"fstatat64">(folder, path, out, flags);
}

EIDOLON_PROCESS_EXPORT int statx(int folder, const char* path, int flags, unsigned mask,
                                 struct statx* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, out);
  return CallNext<"statx">(folder, path, flags, mask, out);
}

// Programs that were linked before glibc 2.33 call these.
EIDOLON_PROCESS_EXPORT int __xstat(int version, const char* path, struct stat* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, out);
  return CallNext<"__xstat">(version, path, out);
}

EIDOLON_PROCESS_EXPORT int __xstat64(int version, const char* path, struct stat64* out) noexcept {
  if (const DeviceFile* file = Find(path)) return Describe(*file, Plain(out));
  return CallNext<"__xstat64">(version, path, out);
}

EIDOLON_PROCESS_EXPORT int access(const char* path, int mode) noexcept {
  if (Find(path) != nullptr && (mode & X_OK) == 0) return 0;
  return CallNext<"access">(path, mode);
}

EIDOLON_PROCESS_EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (Find(path) != nullptr && (mode & X_OK) == 0) return 0;
  return CallNext<"faccessat">(folder, path, mode, flags);
}
