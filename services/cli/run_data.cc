#include "services/cli/run_data.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace eidolon::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "/eidolon-run-";
constexpr char kOwnerFile[] = "/owner";

// Of runs that were killed before they had an agent to do it.
void RemoveLeftOver() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(), ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix + 1)) continue;
    // Other users make folders there too, with whatever in them.
    struct stat status {};
    if (lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        status.st_uid != geteuid()) {
      continue;
    }
    pid_t owner = 0;
    std::ifstream(entry.path().string() + kOwnerFile) >> owner;
    if (owner > 0 && kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

RunData::RunData(const std::string& wanted) : path_(wanted) {
  if (!path_.empty()) return;
  RemoveLeftOver();
  path_ = fs::temp_directory_path().string() + kPrefix + "XXXXXX";
  temporary_ = mkdtemp(path_.data()) != nullptr;
  if (temporary_) {
    std::ofstream(path_ + kOwnerFile) << getpid();
  } else {
    path_.clear();
  }
}

RunData::~RunData() {
  std::error_code ignored;
  if (temporary_) fs::remove_all(path_, ignored);
}

}  // namespace eidolon::cli
