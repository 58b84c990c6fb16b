#include "services/base/standard_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

namespace eidolon::base {
namespace {

constexpr int kKilledBySignal = 128;  // Plus the signal: how shells report it.

std::atomic<int> first_error = 0;

void Note(int error) {
  int none = 0;
  first_error.compare_exchange_strong(none, error == 0 ? EIO : error);
}

// "standard output (/dev/full)"; without the path where it has none.
std::string NameOfOutput() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/fd/1", path.data(), path.size());
  std::string name = "standard output";
  if (size > 0 && path[0] == '/') {
    name += " (" + std::string(path.data(), static_cast<std::size_t>(size)) + ")";
  }
  return name;
}

}  // namespace

void ReserveStandardStreams() {
  // The one for output is opened for reading, so that writes fail.
  constexpr std::array<int, 3> kModes = {O_RDONLY, O_RDONLY, O_WRONLY};
  for (int fd = 0; fd < static_cast<int>(kModes.size()); ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is this one: those below it are open.
    (void)open("/dev/null", kModes[static_cast<std::size_t>(fd)]);
  }
}

void PrintTo(std::FILE* out, std::string_view text) {
  errno = 0;
  const bool whole = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if ((!whole || std::fflush(out) != 0) && out == stdout) Note(errno);
}

void Print(std::string_view text) { PrintTo(stdout, text); }

std::optional<int> OutputError() {
  const int error = first_error;
  return error == 0 ? std::nullopt : std::optional(error);
}

int FinishOutput(int status) {
  const std::string name = NameOfOutput();
  errno = 0;
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fclose(stdout) != 0 || failed_before) Note(errno);
  const auto error = OutputError();
  if (!error) return status;
  if (*error == EPIPE) return kKilledBySignal + SIGPIPE;
  const bool closed = *error == EBADF;
  std::fprintf(stderr, "eidolon: cannot write to %s: %s; what was printed is incomplete\n",
               closed ? "standard output" : name.c_str(),
               closed ? "it is closed" : std::strerror(*error));
  return 1;
}

}  // namespace eidolon::base
