// A disk under SQLite that fails or hangs when a test says so: a VFS between SQLite and the real
// one, which every database of the process uses while this object lives.
#pragma once

#include <memory>

namespace eidolon::testing {

// One at a time. Thread safe. Make it before a database is opened.
class FaultyDisk {
 public:
  FaultyDisk();
  ~FaultyDisk();  // Requires: no database is open.
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  static constexpr int kForEver = -1;
  // The next writes find no space: none of their bytes is written.
  void FillUp(int times = kForEver);
  // The next writes fail with an I/O error.
  void FailWrites(int times = kForEver);
  // The next fsyncs fail; what was written before stays in the file, as in a page cache.
  void FailSyncs(int times = kForEver);
  // Files cannot be opened.
  void FailOpens(int times = kForEver);
  // Writes and fsyncs do not come back until Heal.
  void Hang();
  void Heal();
  // Those that hang now.
  int hanging() const;
  // Returns the number of failures of all files that were set to fail.
  int failures() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace eidolon::testing
