// Output goes to anonymous files in memory and not to pipes: a program stops when a pipe is full,
// so both would have to be read at once, by threads or poll, which would compete with what is
// measured. The files are read after the program has ended. Of a failed program the last line of
// stderr is shown, which for Python is the exception itself.
#include "services/cli/bench/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::cli::bench {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr std::size_t kLastWordsMax = 300;

// A file in memory that takes an output stream of the program.
class Sink {
 public:
  Sink() : file_(memfd_create("eidolon-bench", MFD_CLOEXEC)) {}
  ~Sink() { close(file_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  int file() const { return file_; }
  std::string Text() const {
    std::string text;
    std::array<char, 1 << 16> part;
    lseek(file_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = read(file_, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  int file_;
};

std::vector<std::string> EnvironmentOf(const Program& program) {
  std::vector<std::string> all;
  for (const auto& [name, value] : program.environment) all.push_back(name + "=" + value);
  for (char** at = environ; *at != nullptr; ++at) {
    bool replaced = false;
    for (const auto& [name, value] : program.environment) {
      replaced = replaced || std::string_view(*at).starts_with(name + "=");
    }
    if (!replaced) all.emplace_back(*at);
  }
  return all;
}

std::vector<char*> PointersTo(std::vector<std::string>* texts) {
  std::vector<char*> pointers;
  for (std::string& text : *texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The last line with something in it.
std::string LastWords(std::string text) {
  text.erase(text.find_last_not_of(" \n\t\r") + 1);
  text.erase(0, text.find_last_of('\n') + 1);
  return text.size() > kLastWordsMax ? text.substr(0, kLastWordsMax) + "..." : text;
}

}  // namespace

Result<std::string> RunProgram(const Program& program) {
  std::vector<std::string> command = program.command;
  std::vector<std::string> environment = EnvironmentOf(program);
  const Sink out;
  const Sink err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.file(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.file(), STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                   PointersTo(&command).data(), PointersTo(&environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return Fail(ErrorCode::kNotFound, StrCat(command[0], ": ", std::strerror(failure)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out.Text();
  const std::string how = WIFSIGNALED(status) ? StrCat("died of signal ", WTERMSIG(status))
                                              : StrCat("ended with ", WEXITSTATUS(status));
  std::string words = LastWords(err.Text());
  if (words.empty()) words = LastWords(out.Text());
  return Fail(ErrorCode::kInternal, StrCat(command[0], " ", how, ": ", words));
}

}  // namespace eidolon::cli::bench
