#include "shim/program/time/process_rest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/core/system.h"

namespace eidolon::shim::time {
namespace {

constexpr int kDeepest = 3;  // Workers start few processes themselves.
constexpr std::uint64_t kPollingNs = 2'000'000;

// The file's beginning as text; empty when it is gone.
template <std::size_t kSize>
const char* Read(const char* path, char (&buffer)[kSize]) noexcept {
  buffer[0] = '\0';
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return buffer;
  const ssize_t bytes = read(file, buffer, kSize - 1);
  close(file);
  buffer[bytes > 0 ? bytes : 0] = '\0';
  return buffer;
}

void AddProcess(long process, long self, int depth, ProcessActivity& sum) noexcept;

void AddThread(const char* folder, long self, long thread, int depth,
               ProcessActivity& sum) noexcept {
  char path[96];
  char text[1024];
  std::snprintf(path, sizeof(path), "%s/%ld/stat", folder, thread);
  // "number (name) state": the name may hold anything.
  const char* name_end = std::strrchr(Read(path, text), ')');
  if (name_end != nullptr && name_end[1] == ' ' && thread != self) {
    const char state = name_end[2];
    if (state == 'R' || state == 'D' || state == 'T' || state == 't') sum.wants_to_run = true;
    std::snprintf(path, sizeof(path), "%s/%ld/schedstat", folder, thread);
    char* rest = nullptr;
    sum.used_ns += std::strtoull(Read(path, text), &rest, 10);
    sum.used_ns += std::strtoull(rest, nullptr, 10);
  }
  std::snprintf(path, sizeof(path), "%s/%ld/children", folder, thread);
  const char* at = Read(path, text);
  while (depth < kDeepest) {
    char* end = nullptr;
    const long child = std::strtol(at, &end, 10);
    if (end == at || child <= 0) return;
    AddProcess(child, self, depth + 1, sum);
    at = end;
  }
}

void AddProcess(long process, long self, int depth, ProcessActivity& sum) noexcept {
  char folder[64];
  std::snprintf(folder, sizeof(folder), "/proc/%ld/task", process);
  DIR* threads = opendir(folder);
  if (threads == nullptr) return;
  while (const dirent* entry = readdir(threads)) {
    const long thread = std::strtol(entry->d_name, nullptr, 10);
    if (thread > 0) AddThread(folder, self, thread, depth, sum);
  }
  closedir(threads);
}

}  // namespace

ProcessActivity LookAtProcess(std::int64_t now_ns) noexcept {
  ProcessActivity sum{.taken_ns = now_ns};
  AddProcess(getpid(), core::RawSyscall(SYS_gettid), 0, sum);
  return sum;
}

bool Rests(const ProcessActivity& before, const ProcessActivity& now) noexcept {
  if (before.taken_ns == 0 || now.wants_to_run) return false;
  const auto window_ns = static_cast<std::uint64_t>(now.taken_ns - before.taken_ns);
  return now.used_ns <= before.used_ns + window_ns / 10 + kPollingNs;
}

}  // namespace eidolon::shim::time
