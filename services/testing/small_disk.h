// A file system of a test's own that is soon full. Mounting one needs root: others skip.
#pragma once

#include <cstddef>
#include <string>

#include "services/testing/temporary_directory.h"

namespace eidolon::testing {

// Owns the mount and everything in it.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t mebibytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Empty: it is there. Otherwise why not.
  const std::string& why_missing() const { return why_missing_; }
  const std::string& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  // Leaves no space at all, until Empty.
  void Fill();
  void Empty();
  // Requires: nothing in it is open for writing.
  void MakeReadOnly();

 private:
  TemporaryDirectory folder_;
  std::string why_missing_;
};

}  // namespace eidolon::testing
