// The one thread that writes to the store: in order, and what must not be lost again and again
// until it is written. Nobody else waits for the disk, so a slow one holds up no reader.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/store/job_store.h"

namespace eidolon::controller::store {

using Write = std::function<base::Result<void>(JobStore&)>;

// A write that is tried once, for somebody who waits for its result.
struct Request {
  Write write;
  // Called after a failure that does not show what is on the disk: whether it is there all the
  // same.
  std::function<base::Result<bool>(JobStore&)> is_stored;
  // Told once, in any case. kResourceExhausted: the disk has no space.
  std::function<void(const base::Result<void>&)> done;
  bool frees_space = false;  // Tried also when the disk is full.
};

// A write that is repeated until it succeeds. A later one of the same job takes its place.
struct Duty {
  std::int64_t job = 0;
  std::string what;  // For the log: "job default/a is Complete: ...".
  Write write;
  std::function<void()> done;  // Not told when another has taken its place.
};

struct StoreState {
  base::Result<void> writable;      // Or why not.
  std::size_t unsaved = 0;          // Duties that are not done.
  std::uint64_t failed_writes = 0;  // Since the start.
};

// Ticket of a waiter for a request. Thread safe.
class Ticket {
 public:
  enum class End { kDone, kWithdrawn, kUnknown };
  // Waits until `done` was told. After the limit a write that has not begun never will; one that
  // has may come to any end.
  End Wait(std::chrono::milliseconds limit);

  // The writer's side. False: nobody waits any more.
  bool Begin();
  void Finish();

 private:
  enum class Stage { kWaiting, kBegun, kWithdrawn, kDone };

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable finished_;
  Stage stage_ = Stage::kWaiting;
};

struct StoreWriterOptions {
  std::string folder;  // In which a file is written now and then, to see whether that is possible.
  // Held while `done` is called; never while something is written.
  std::mutex* guard = nullptr;
};

// Owns the store and its thread. Thread safe. What it calls back may call it.
class StoreWriter {
 public:
  // Requires: the clock and what the callbacks use outlive it, or Close was called.
  StoreWriter(StoreWriterOptions options, JobStore store, const base::RealClock& clock);
  ~StoreWriter();  // Closes without waiting for what cannot be written.

  // A store that cannot be written, or for which too many wait, refuses at once; nothing is told
  // then.
  base::Result<std::shared_ptr<Ticket>> Ask(Request request);
  void Keep(Duty duty);
  // A duty that may be lost: tried once, in the place of an earlier offer of the job, and not at
  // all while a duty of the job is to be done.
  void Offer(Duty duty);
  // Takes the duty of a job back. False: it has begun, or there is none.
  bool TakeBack(std::int64_t job);

  StoreState state() const;
  // Goes on until every duty is done, at most until the limit, and ends the thread. Answers what
  // was not done. Requires: the guard is not held.
  std::vector<std::string> Close(std::chrono::milliseconds limit);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  std::thread thread_;
};

// Writes a file in the folder and removes it: whether there is space, and the folder can be
// written.
base::Result<void> ProbeFolder(const std::string& folder);
// What a user can do about a failed write: the end of a sentence.
std::string WayOut(const base::Error& error, const std::string& folder);

}  // namespace eidolon::controller::store
