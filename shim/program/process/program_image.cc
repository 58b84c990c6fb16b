// The kernel shows as a process's command and environment whatever lies between four addresses of
// its memory map, and exec is not the only way to set them: PR_SET_MM_MAP sets all at once, without
// privileges. New texts therefore lie in a mapping of their own, whatever their length, and the
// other fields of the map are read back from /proc/self/stat (field numbers of proc(5)) and stay as
// they are. Descriptors are listed first and closed afterwards, by system calls past the shim's own
// exports, because closing while /proc is read would change what is listed.
#include "shim/program/process/program_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "shim/core/life_line.h"
#include "shim/core/system.h"

namespace eidolon::shim::process {
namespace {

std::string ReadAll(const char* path) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  for (ssize_t size; (size = read(file, part, sizeof(part))) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  core::RawSyscall(SYS_close, file);
  return text;
}

// The fields of /proc/self/stat behind the program's name, which may hold anything; the first is
// field 3.
std::vector<std::uint64_t> StatFields() {
  const std::string text = ReadAll("/proc/self/stat");
  std::vector<std::uint64_t> fields;
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return fields;
  std::string_view rest = std::string_view(text).substr(end + 1);
  while (!rest.empty()) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin);
    const std::size_t length = std::min(rest.find(' '), rest.size());
    std::uint64_t value = 0;
    std::from_chars(rest.data(), rest.data() + length, value);
    fields.push_back(value);
    rest.remove_prefix(length);
  }
  return fields;
}

// Offset at which the kernel finds the texts of a process. Numbers of proc(5).
constexpr std::size_t kFirstField = 3;
constexpr std::size_t kStartCode = 26, kEndCode = 27, kStartStack = 28;
constexpr std::size_t kStartData = 45, kEndData = 46, kStartBreak = 47, kFields = 51;

std::size_t SizeOf(char* const texts[]) {
  std::size_t bytes = 0;
  for (; *texts != nullptr; ++texts) bytes += std::strlen(*texts) + 1;
  return bytes;
}

char* Put(char* const texts[], char* to) {
  for (; *texts != nullptr; ++texts) to = stpcpy(to, *texts) + 1;
  return to;
}

}  // namespace

std::string BeganWith() noexcept { return ReadAll("/proc/self/environ"); }

bool ShowProgram(char* const arguments[], char* const variables[]) noexcept {
  const std::vector<std::uint64_t> fields = StatFields();
  if (fields.size() <= kFields - kFirstField) return false;
  const auto field = [&](std::size_t number) { return fields[number - kFirstField]; };
  const std::size_t bytes = SizeOf(arguments) + SizeOf(variables);
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) return false;
  auto* const begin = static_cast<char*>(place);
  char* const middle = Put(arguments, begin);
  char* const end = Put(variables, middle);
  const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
  prctl_mm_map map{};
  map.start_code = field(kStartCode);
  map.end_code = field(kEndCode);
  map.start_data = field(kStartData);
  map.end_data = field(kEndData);
  map.start_brk = field(kStartBreak);
  map.brk = address(sbrk(0));
  map.start_stack = field(kStartStack);
  map.arg_start = address(begin);
  map.arg_end = map.env_start = address(middle);
  map.env_end = address(end);
  map.exe_fd = ~0U;
  const long result = core::RawSyscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP,
                                       static_cast<long>(address(&map)), sizeof(map));
  if (result != 0) munmap(place, bytes);
  return result == 0;
}

void NameProcess(const char* path) noexcept {
  const char* const last = std::strrchr(path, '/');
  core::RawSyscall(SYS_prctl, PR_SET_NAME,
                   reinterpret_cast<long>(last == nullptr ? path : last + 1));
}

void CloseForExec() noexcept {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return;
  std::vector<int> closed;
  while (const dirent* const entry = readdir(folder)) {
    const int number = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number == dirfd(folder)) continue;
    const long flags = core::RawSyscall(SYS_fcntl, number, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) != 0) closed.push_back(number);
  }
  closedir(folder);
  for (const int number : closed) core::RawSyscall(SYS_close, number);
}

}  // namespace eidolon::shim::process
