// Value operations in program order behind results that have not arrived, and behind work whose
// effect is found out only when somebody looks.
//
// The result of a small collective is known once every member has issued it, which may be long
// after this process went on. Until then an operation that touches the result's range, or a range
// that a waiting operation touches, waits in this queue; everything else happens at once. Host
// waits call Drain, so the bytes are in place when the program looks at them. Results cost no
// virtual time.
//
// Deferred work (a small kernel that is run for its values) may touch anything, so everything after
// it queues, until a read or a question about what is known performs the queue in order. Reads pass
// work that surely leaves their bytes alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "shim/value/deferred.h"
#include "shim/value/finished_reads.h"
#include "shim/value/store.h"

namespace eidolon::shim::value {

// State of a requested outstanding result.
enum class Fetch { kReady, kNotYet, kLost };

// The program read emulated memory. `done` may correct what `host` holds.
struct HostRead {
  std::uint64_t address = 0;
  unsigned char* host = nullptr;
  std::size_t size = 0;
  std::size_t unknown_bytes = 0;
};

// Thread safe.
class Pending {
 public:
  // Asks for one result: fills `bytes` (sized as queued) when ready. `wait` false: must not block.
  using FetchFunction = std::function<Fetch(std::uint64_t communicator, std::uint64_t sequence,
                                            bool wait, std::vector<std::byte>* bytes)>;

  Pending(Store& store, FetchFunction fetch);

  // The result of collective `sequence` will be `size` bytes at `target`. `object_bytes`: each so
  // many of them may be a pickled object and zeros that stand for bytes nobody knows (object.h);
  // 0: no objects.
  void AwaitCollective(std::uint64_t communicator, std::uint64_t sequence, std::uint64_t target,
                       std::size_t size, std::size_t object_bytes = 0);

  // The operations of Store, in program order with the above.
  void Write(std::uint64_t address, const void* bytes, std::size_t size);
  void Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
            std::size_t size);
  void Copy(std::uint64_t target, std::uint64_t source, std::size_t size);
  void Forget(std::uint64_t address, std::size_t size, Author author = kNobody);
  void NoteKernelPointer(std::uint64_t address) {
    if (waiting_.load(std::memory_order_acquire) == 0) {
      store_.NoteKernelPointer(address);
    } else {
      NoteKernelPointerBehind(address);
    }
  }

  // Makes all of the range unknown.
  void MakeStale(std::uint64_t begin, std::uint64_t end);

  void Defer(std::unique_ptr<Deferred> work);
  // True while deferred work waits: kernels that are not deferred then have an order too.
  bool has_deferred() const { return deferred_.load(std::memory_order_acquire) != 0; }

  // Reads into host memory, now or (when the range waits for a result) at a later Drain: the
  // program may not look before it has waited for the stream. `done` is called when the bytes are
  // in place.
  using ReadDone = void (*)(const HostRead& read, Store& store);
  void Read(std::uint64_t address, void* host, std::size_t size, unsigned char unknown_byte,
            ReadDone done, StreamName stream = {});
  // How many reads there have been: those before an event is recorded.
  std::uint64_t reads_so_far() const { return reads_so_far_.load(std::memory_order_acquire); }
  // `stream` now waits for the reads that `finished` names.
  void Follow(StreamName stream, const FinishedReads& finished);
  // The program waited for these reads: they are in place afterwards. What they depend on has come
  // to its end; but work that nobody can tell from it may stand in the queue behind results that
  // are outstanding, which are waited for then.
  void Finish(const FinishedReads& finished);

  // True when every byte is known; waits for results that the range depends on, unless a byte of it
  // is unknown whatever they are. Other ranks may only be able to give them once this one has gone
  // on: who waits without need holds up a job that would not stand still on a cluster.
  bool IsKnown(std::uint64_t address, std::size_t size);

  // Performs what can be performed without blocking. Called after every host wait.
  void Drain() {
    if (waiting_.load(std::memory_order_acquire) == 0) return;
    if (reads_.load(std::memory_order_acquire) != 0 || !has_deferred()) DrainQueue();
  }

  // Performs what waits for no result, deferred work too.
  void PerformReady() {
    if (waiting_.load(std::memory_order_acquire) != 0) DrainQueue();
  }

  std::size_t waiting() const { return waiting_.load(std::memory_order_acquire); }

 private:
  enum class Kind {
    kCollective,
    kWrite,
    kFill,
    kCopy,
    kForget,
    kStale,
    kStaleRange,
    kRead,
    kDeferred
  };
  struct Operation {
    Kind kind;
    std::uint64_t target = 0;  // Written range; for kRead and kStale the range looked at.
    std::uint64_t source = 0;  // kCopy.
    std::size_t size = 0;
    std::uint64_t pattern = 0;          // kFill; kRead: the unknown byte; kForget: the author.
    std::size_t element_bytes = 1;      // kFill.
    std::uint64_t communicator = 0;     // kCollective.
    std::uint64_t sequence = 0;         // kCollective.
    std::size_t object_bytes = 0;       // kCollective.
    void* host = nullptr;               // kRead.
    ReadDone done = nullptr;            // kRead.
    std::uint64_t number = 0;           // kRead: of all reads.
    std::vector<StreamName> streams{};  // kRead: its own, and those that wait for it.
    std::vector<std::byte> bytes{};     // kWrite; kCollective: its result, once `fetched`.
    std::optional<Fetch> fetched{};     // kCollective: that was waited for.
    std::unique_ptr<Deferred> work{};   // kDeferred.
    std::uint64_t place = 0;            // Among all operations that were queued.
  };
  // A result by its name, and what was fetched.
  struct Result {
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;
    std::vector<std::byte> bytes{};  // Sized before it is fetched.
  };

  static bool Touch(const Operation& a, const Operation& b);
  static bool IsAmong(const Operation& read, const FinishedReads& finished);
  Lookahead Foresee(const Operation& operation, std::uint64_t address, std::size_t size,
                    const Deferred::Before& before) const;
  // True when one of the operations may change what is known of the range. `steps`: as in
  // MayBeKnown.
  bool MayChange(std::span<const Operation> operations, std::uint64_t address, std::size_t size,
                 int& steps) const;
  // Which of the first `count` operations an access to the range needs, as far as anybody can tell.
  std::vector<bool> NeededFor(std::uint64_t address, std::size_t size, std::size_t count) const;
  // The first result that one of the reads waits for; null: there is none.
  const Operation* FindMissing(const FinishedReads& finished) const;
  void AddOrPerform(Operation operation);
  void Enqueue(Operation operation);
  // The collectives among the operations of the queue that are `needed`, but for those that were
  // fetched.
  std::vector<Result> ResultsOf(const std::vector<bool>& needed) const;
  // Waits for the results, without the lock: another thread may have to go on for them to come.
  // Leaves them with the operations that still wait for them.
  void Await(std::vector<Result> results, std::unique_lock<std::mutex>& guard);
  // False, and nothing has happened, for a collective whose result is not there yet.
  bool Perform(Operation& operation);
  void DrainQueue();
  // False, and nothing is waited for, when a byte is unknown in any case.
  bool DrainRange(std::uint64_t address, std::size_t size);
  void NoteKernelPointerBehind(std::uint64_t address);
  void DrainLocked();
  // False when a byte of the range is surely unknown once the first `count` operations have been
  // performed. `steps`: operations that the question may still look at.
  bool MayBeKnown(std::uint64_t address, std::size_t size, std::size_t count, int& steps) const;
  bool MayBeInvented(std::uint64_t address) const;
  void Recount();
  // Takes over what could not be performed.
  void Replace(std::vector<Operation> left);

  Store& store_;
  const FetchFunction fetch_;
  std::mutex mutex_;                      // Guards the queue; not held while results are awaited.
  std::vector<Operation> queue_;          // Keeps its memory: thousands of launches come and go.
  std::atomic<std::size_t> waiting_{0};   // queue_.size(), for the fast path.
  std::atomic<std::size_t> deferred_{0};  // Of those, deferred work.
  std::atomic<std::size_t> reads_{0};     // And reads.
  std::atomic<std::uint64_t> reads_so_far_{0};
  std::size_t held_bytes_ = 0;    // Of queued writes.
  std::uint64_t next_place_ = 0;  // Of the next operation that is queued.
};

// The process's queue over ProcessStore, fetching with kCollectiveValues.
Pending& ProcessPending();

}  // namespace eidolon::shim::value
