#include "services/runtime/process/confinement.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace eidolon::process {
namespace {

constexpr char kScoreFile[] = "/proc/self/oom_score_adj";
constexpr int kScoreMax = 1000;

}  // namespace

void RenounceNewPrivileges() { prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

void SacrificeFirst() {
  const int file = open(kScoreFile, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  char text[16];
  const ssize_t size = read(file, text, sizeof text);
  int score = 0;
  if (size > 0 && std::from_chars(text, text + size, score).ec == std::errc()) {
    const int wanted = std::min(score + kSacrificePoints, kScoreMax);
    const auto end = std::to_chars(text, text + sizeof text, wanted).ptr;
    [[maybe_unused]] const ssize_t written =
        pwrite(file, text, static_cast<std::size_t>(end - text), 0);
  }
  close(file);
}

}  // namespace eidolon::process
