// Where a command keeps the jobs that it runs for its user and nobody else.
#pragma once

#include <string>

namespace eidolon::cli {

// A folder for jobs, removed at the end; or the one that the user names.
class RunData {
 public:
  explicit RunData(const std::string& wanted);
  ~RunData();
  RunData(const RunData&) = delete;
  RunData& operator=(const RunData&) = delete;

  // Empty: it could not be made.
  const std::string& path() const { return path_; }
  bool is_temporary() const { return temporary_; }

 private:
  std::string path_;
  bool temporary_ = false;
};

}  // namespace eidolon::cli
