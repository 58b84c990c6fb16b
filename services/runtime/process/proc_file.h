// Reading /proc: its files are small, and vanish while they are read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace eidolon::process {

// The file's first 4 KiB; empty when it is gone.
std::string ReadProcFile(const std::filesystem::path& path);
// All of it: for lists, which have no greatest length.
std::string ReadWholeProcFile(const std::filesystem::path& path);

// Fields of /proc/<pid>/stat: "pid (name) state parent ..." (proc(5)).
struct ProcStat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  // 0 in a text that ends before them.
  std::uint64_t cpu_ticks = 0;    // Of user and system, sysconf(_SC_CLK_TCK) a second.
  std::uint64_t start_ticks = 0;  // Since the machine started.
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
};
std::optional<ProcStat> ParseProcStat(const std::string& text);

// Entries of a folder that may vanish meanwhile.
template <typename Visit>
void ForEachProcEntry(const std::filesystem::path& folder, Visit&& visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    visit(entry->path());
  }
}

}  // namespace eidolon::process
