#include "services/cli/results_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>
#include <utility>

#include "services/base/regular_file.h"
#include "services/base/write_file.h"

namespace eidolon::cli {

using nlohmann::json;

ResultsLog::ResultsLog(std::string path) : path_(std::move(path)) {
  std::istringstream in(base::ReadRegularFile(path_).value_or(""));
  std::string line;
  while (std::getline(in, line)) {
    json row = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (row.is_object() && row.contains("name") && row["name"].is_string()) {
      const std::string name = row["name"].get<std::string>();
      rows_[name] = std::move(row);
    }
  }
}

base::Result<void> ResultsLog::Add(const json& row) {
  const std::string line = "\n" + row.dump() + "\n";
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const ssize_t written = file < 0 ? -1 : write(file, line.data(), line.size());
  int failure = written < 0 ? errno : 0;
  // Less than all of it is written when the disk becomes full.
  if (written >= 0 && written < static_cast<ssize_t>(line.size())) failure = ENOSPC;
  if (failure == 0 && fsync(file) != 0) failure = errno;
  if (file >= 0) close(file);
  if (failure != 0) return std::unexpected(base::CannotWrite(path_, failure));
  rows_[row["name"].get<std::string>()] = row;
  return {};
}

}  // namespace eidolon::cli
