// Everything here answers one question: which of the waiting operations have to happen before an
// access, and can that be told without waiting. Waiting too little gives wrong bytes; waiting too
// much may block a rank on a result that other ranks only give once this one goes on. So an
// operation is passed only when it surely leaves the range alone (MayChange), and a result is not
// waited for when the byte is unknown whatever arrives (MayBeKnown, which walks back through the
// queue and follows copies to their sources). Both searches are bounded in steps, because they
// recurse through inputs of deferred work; out of steps they answer "may", which is safe.
//
// A queue with deferred work keeps strict order except for reads, because such work may touch
// anything. Without it, operations on ranges that do not overlap pass each other.
#include "shim/value/pending.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "shim/value/declared.h"
#include "shim/value/object.h"
#include "shim/value/plausible.h"

namespace eidolon::shim::value {
namespace {

// Beyond this many waiting operations the oldest results are waited for: memory stays bounded.
constexpr std::size_t kMostWaiting = 65536;
// Deferred work is performed when more than this much would have to be kept for it.
constexpr std::size_t kMostBehindDeferred = 8192;
constexpr std::size_t kMostHeldBytes = 64 << 20;
// A question about the future looks at so many operations at most.
constexpr int kMostLookaheadSteps = 1 << 16;
// So do the reads that look whether they may pass what waits.
constexpr int kMostPassingSteps = 1 << 13;

bool Overlap(std::uint64_t a, std::size_t a_size, std::uint64_t b, std::size_t b_size) {
  return a < b + b_size && b < a + a_size;
}

// Whoever wrote there before is not whom to name when the bytes become unknown. Before the write,
// which names its own author where it is too large to be kept.
void NoteKnown(Store& store, std::uint64_t address) {
  store.authors().Note({.author = kByOthers, .begin = address});
}

// A plausible result is noted for one address, so that a copy has it only if it stands there.
void CopyBytes(Store& store, std::uint64_t target, std::uint64_t source, std::size_t size) {
  constexpr std::size_t kLargestResult = 64;
  if (size <= kLargestResult && GivesPlausible() && !store.IsKnown(source, size)) {
    ProcessPlausible().Provide(store, source, 0);
  }
  store.Copy(target, source, size);
}

}  // namespace

Pending::Pending(Store& store, FetchFunction fetch) : store_(store), fetch_(std::move(fetch)) {}

bool Pending::Touch(const Operation& a, const Operation& b) {
  if (a.kind == Kind::kDeferred || b.kind == Kind::kDeferred) return true;
  // Two reads of one range touch too: rare, and harmless.
  if (Overlap(a.target, a.size, b.target, b.size)) return true;
  if (a.kind == Kind::kCopy && Overlap(a.source, a.size, b.target, b.size)) return true;
  return b.kind == Kind::kCopy && Overlap(a.target, a.size, b.source, b.size);
}

bool Pending::Perform(Operation& operation) {
  switch (operation.kind) {
    case Kind::kCollective: {
      std::vector<std::byte> bytes = std::move(operation.bytes);
      bytes.resize(operation.size);
      const Fetch fetched = operation.fetched.has_value()
                                ? *operation.fetched
                                : fetch_(operation.communicator, operation.sequence, false, &bytes);
      if (fetched == Fetch::kNotYet) return false;
      if (fetched == Fetch::kReady) {
        NoteKnown(store_, operation.target);
        store_.Write(operation.target, bytes.data(), bytes.size());
        for (std::size_t at = 0; at < bytes.size() && operation.object_bytes != 0;
             at += operation.object_bytes) {
          const std::size_t size = std::min(operation.object_bytes, bytes.size() - at);
          const std::size_t known = KnownOfObject(std::span(bytes).subspan(at, size));
          store_.Forget(operation.target + at + known, size - known);
        }
      } else {
        store_.Forget(operation.target, operation.size, kByCollective);
      }
      return true;
    }
    case Kind::kWrite:
      NoteKnown(store_, operation.target);
      store_.Write(operation.target, operation.bytes.data(), operation.size);
      return true;
    case Kind::kFill:
      store_.Fill(operation.target, operation.pattern, operation.element_bytes, operation.size);
      return true;
    case Kind::kCopy:
      CopyBytes(store_, operation.target, operation.source, operation.size);
      return true;
    case Kind::kForget:
      store_.Forget(operation.target, operation.size, static_cast<Author>(operation.pattern));
      return true;
    case Kind::kStale:
      store_.NoteKernelPointer(operation.target);
      return true;
    case Kind::kStaleRange:
      store_.MakeStale(operation.target, operation.target + operation.size);
      return true;
    case Kind::kRead: {
      const std::size_t unknown = store_.Read(operation.target, operation.host, operation.size,
                                              static_cast<unsigned char>(operation.pattern));
      if (operation.done != nullptr) {
        operation.done({.address = operation.target,
                        .host = static_cast<unsigned char*>(operation.host),
                        .size = operation.size,
                        .unknown_bytes = unknown},
                       store_);
      }
      return true;
    }
    case Kind::kDeferred:
      operation.work->Perform(store_);
      return true;
  }
  return true;
}

void Pending::Replace(std::vector<Operation> left) {
  if (left.empty()) {
    queue_.clear();
  } else {
    queue_ = std::move(left);
  }
  Recount();
}

void Pending::Recount() {
  std::size_t deferred = 0;
  std::size_t reads = 0;
  held_bytes_ = 0;
  for (const Operation& operation : queue_) {
    deferred += operation.kind == Kind::kDeferred ? 1 : 0;
    reads += operation.kind == Kind::kRead ? 1 : 0;
    held_bytes_ += operation.bytes.size();
  }
  deferred_.store(deferred, std::memory_order_release);
  reads_.store(reads, std::memory_order_release);
  waiting_.store(queue_.size(), std::memory_order_release);
}

void Pending::Enqueue(Operation operation) {
  operation.place = next_place_++;
  queue_.push_back(std::move(operation));
}

void Pending::Defer(std::unique_ptr<Deferred> work) {
  const std::lock_guard guard(mutex_);
  Enqueue({.kind = Kind::kDeferred, .work = std::move(work)});
  deferred_.fetch_add(1, std::memory_order_release);
  waiting_.store(queue_.size(), std::memory_order_release);
  if (queue_.size() > kMostBehindDeferred) DrainLocked();
}

void Pending::AddOrPerform(Operation operation) {
  std::unique_lock guard(mutex_);
  while (!has_deferred()) {
    const bool behind = std::ranges::any_of(
        queue_, [&](const Operation& earlier) { return Touch(earlier, operation); });
    if (!behind) {
      Perform(operation);
      return;
    }
    if (queue_.size() < kMostWaiting) break;
    Await(ResultsOf(std::vector<bool>(queue_.size(), true)), guard);
    DrainLocked();
  }
  const bool reads = operation.kind == Kind::kRead;
  held_bytes_ += operation.bytes.size();
  Enqueue(std::move(operation));
  if (reads) reads_.fetch_add(1, std::memory_order_release);
  waiting_.store(queue_.size(), std::memory_order_release);
  const bool full = queue_.size() > kMostBehindDeferred || held_bytes_ > kMostHeldBytes;
  if (has_deferred() && (reads || full)) DrainLocked();
}

void Pending::AwaitCollective(std::uint64_t communicator, std::uint64_t sequence,
                              std::uint64_t target, std::size_t size, std::size_t object_bytes) {
  if (size == 0) return;
  const std::lock_guard guard(mutex_);
  Enqueue({.kind = Kind::kCollective,
           .target = target,
           .size = size,
           .communicator = communicator,
           .sequence = sequence,
           .object_bytes = object_bytes});
  waiting_.store(queue_.size(), std::memory_order_release);
}

void Pending::Write(std::uint64_t address, const void* bytes, std::size_t size) {
  if (waiting() == 0) {
    NoteKnown(store_, address);
    return store_.Write(address, bytes, size);
  }
  if (!Store::IsKept(bytes, size)) return Forget(address, size, kByHost);
  const auto* first = static_cast<const std::byte*>(bytes);
  AddOrPerform({.kind = Kind::kWrite,
                .target = address,
                .size = size,
                .bytes = std::vector<std::byte>(first, first + size)});
}

void Pending::Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
                   std::size_t size) {
  if (waiting() == 0) return store_.Fill(address, pattern, element_bytes, size);
  AddOrPerform({.kind = Kind::kFill,
                .target = address,
                .size = size,
                .pattern = pattern,
                .element_bytes = element_bytes});
}

void Pending::Copy(std::uint64_t target, std::uint64_t source, std::size_t size) {
  if (waiting() == 0) return CopyBytes(store_, target, source, size);
  AddOrPerform({.kind = Kind::kCopy, .target = target, .source = source, .size = size});
}

void Pending::Forget(std::uint64_t address, std::size_t size, Author author) {
  if (waiting() == 0) return store_.Forget(address, size, author);
  AddOrPerform({.kind = Kind::kForget, .target = address, .size = size, .pattern = author});
}

void Pending::NoteKernelPointerBehind(std::uint64_t address) {
  AddOrPerform({.kind = Kind::kStale, .target = address, .size = 1});
}

void Pending::MakeStale(std::uint64_t begin, std::uint64_t end) {
  if (waiting() == 0) return store_.MakeStale(begin, end);
  AddOrPerform({.kind = Kind::kStaleRange, .target = begin, .size = end - begin});
}

void Pending::Read(std::uint64_t address, void* host, std::size_t size, unsigned char unknown_byte,
                   ReadDone done, StreamName stream) {
  const std::uint64_t number = reads_so_far_.fetch_add(1, std::memory_order_acq_rel);
  Operation operation{.kind = Kind::kRead,
                      .target = address,
                      .size = size,
                      .pattern = unknown_byte,
                      .host = host,
                      .done = done,
                      .number = number};
  if (waiting() == 0) {
    Perform(operation);
  } else {
    operation.streams.push_back(stream);
    AddOrPerform(std::move(operation));
  }
}

bool Pending::IsAmong(const Operation& read, const FinishedReads& finished) {
  if (read.kind != Kind::kRead || read.number >= finished.first) return false;
  return std::ranges::any_of(read.streams, [&](const StreamName& stream) {
    return finished.whole_device
               ? stream.device == finished.stream.device || stream.device == StreamName::kNoDevice
               : stream == finished.stream;
  });
}

void Pending::Follow(StreamName stream, const FinishedReads& finished) {
  if (reads_.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard guard(mutex_);
  for (Operation& operation : queue_) {
    if (!IsAmong(operation, finished)) continue;
    if (std::ranges::find(operation.streams, stream) == operation.streams.end()) {
      operation.streams.push_back(stream);
    }
  }
}

void Pending::Finish(const FinishedReads& finished) {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::vector<std::byte> bytes;
  while (reads_.load(std::memory_order_acquire) != 0) {
    {
      const std::lock_guard guard(mutex_);
      DrainLocked();
      const Operation* const missing = FindMissing(finished);
      if (missing == nullptr) return;
      // It was waited for: it will not come any more.
      if (!bytes.empty() && missing->communicator == communicator &&
          missing->sequence == sequence) {
        return;
      }
      communicator = missing->communicator;
      sequence = missing->sequence;
      bytes.resize(missing->size);
    }
    // Without the lock: another thread may have to go on for the result to come.
    fetch_(communicator, sequence, true, &bytes);
  }
}

const Pending::Operation* Pending::FindMissing(const FinishedReads& finished) const {
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const Operation& read = queue_[i];
    if (!IsAmong(read, finished)) continue;
    const std::vector<bool> needed = NeededFor(read.target, read.size, i);
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (needed[earlier] && queue_[earlier].kind == Kind::kCollective) return &queue_[earlier];
    }
  }
  return nullptr;
}

bool Pending::IsKnown(std::uint64_t address, std::size_t size) {
  if (waiting() != 0 && !DrainRange(address, size)) return false;
  return store_.IsKnown(address, size);
}

Lookahead Pending::Foresee(const Operation& operation, std::uint64_t address, std::size_t size,
                           const Deferred::Before& before) const {
  const bool overlaps = Overlap(operation.target, operation.size, address, size);
  switch (operation.kind) {
    case Kind::kCollective:
    case Kind::kWrite:
    case Kind::kFill:
    case Kind::kCopy:
      return overlaps ? Lookahead::kMay : Lookahead::kNothing;
    case Kind::kForget:
    case Kind::kStaleRange:
      return overlaps ? Lookahead::kUnknown : Lookahead::kNothing;
    case Kind::kStale:  // The byte there is unknown afterwards, whether it was known or not.
      return overlaps ? Lookahead::kUnknown : Lookahead::kNothing;
    case Kind::kRead:
      return Lookahead::kNothing;
    case Kind::kDeferred:
      return operation.work->Foresee(store_, address, size, before);
  }
  return Lookahead::kMay;
}

bool Pending::MayBeInvented(std::uint64_t address) const {
  return ProcessDeclared().has_routing() ||
         (GivesPlausible() && ProcessPlausible().MayProvide(store_, address));
}

bool Pending::MayBeKnown(std::uint64_t address, std::size_t size, std::size_t count,
                         int& steps) const {
  bool is_unknown = false;
  for (std::size_t i = count; i-- > 0;) {
    if (--steps <= 0) return true;
    const Operation& operation = queue_[i];
    const bool is_copy_of_it = operation.kind == Kind::kCopy && operation.target <= address &&
                               address + size <= operation.target + operation.size;
    if (is_copy_of_it && !is_unknown) {
      address = operation.source + (address - operation.target);
      continue;
    }
    const Deferred::Before before = [&](std::uint64_t input, std::size_t bytes) {
      return MayBeKnown(input, bytes, i, steps);
    };
    const Lookahead lookahead = Foresee(operation, address, size, before);
    if (lookahead == Lookahead::kMay) return true;
    if (lookahead == Lookahead::kNothing) continue;
    // What stood there before may be plausible: only if nobody knew it either, nothing is.
    if (!GivesPlausible()) return false;
    is_unknown = true;
  }
  return (!is_unknown && store_.IsKnown(address, size)) || MayBeInvented(address);
}

void Pending::DrainQueue() {
  const std::lock_guard guard(mutex_);
  DrainLocked();
}

bool Pending::MayChange(std::span<const Operation> operations, std::uint64_t address,
                        std::size_t size, int& steps) const {
  for (std::size_t i = operations.size(); i-- > 0;) {
    if (--steps <= 0) return true;
    const Operation& operation = operations[i];
    switch (operation.kind) {
      case Kind::kRead:
        continue;
      case Kind::kDeferred:
        if (operation.work->MayChange(store_, address, size)) return true;
        continue;
      case Kind::kStale: {
        // All that is kept from there on: to a gap, if nothing earlier fills that.
        if (operation.target >= address + size) continue;
        const std::uint64_t gap = std::max(operation.target, store_.KeptEnd(operation.target));
        if (gap > address || MayChange(operations.first(i), gap, 1, steps)) return true;
        continue;
      }
      default:
        if (Overlap(operation.target, operation.size, address, size)) return true;
    }
  }
  return false;
}

void Pending::DrainLocked() {
  std::vector<Operation> left;
  int steps = kMostPassingSteps;
  for (Operation& operation : queue_) {
    const bool blocked =
        std::ranges::any_of(left,
                            [&](const Operation& earlier) { return Touch(earlier, operation); }) &&
        (operation.kind != Kind::kRead || MayChange(left, operation.target, operation.size, steps));
    if (blocked || !Perform(operation)) left.push_back(std::move(operation));
  }
  Replace(std::move(left));
}

std::vector<bool> Pending::NeededFor(std::uint64_t address, std::size_t size,
                                     std::size_t count) const {
  std::vector<bool> needed(count, false);
  const Operation wanted{.kind = Kind::kRead, .target = address, .size = size};
  for (std::size_t i = count; i-- > 0;) {
    needed[i] = Touch(queue_[i], wanted);
    for (std::size_t later = i + 1; later < count && !needed[i]; ++later) {
      needed[i] = needed[later] && Touch(queue_[i], queue_[later]);
    }
  }
  return needed;
}

std::vector<Pending::Result> Pending::ResultsOf(const std::vector<bool>& needed) const {
  std::vector<Result> results;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const Operation& operation = queue_[i];
    if (!needed[i] || operation.kind != Kind::kCollective || operation.fetched) continue;
    results.push_back({.communicator = operation.communicator,
                       .sequence = operation.sequence,
                       .bytes = std::vector<std::byte>(operation.size)});
  }
  return results;
}

void Pending::Await(std::vector<Result> results, std::unique_lock<std::mutex>& guard) {
  if (results.empty()) return;
  std::vector<Fetch> fetched;
  guard.unlock();
  for (Result& result : results) {
    const Fetch got = fetch_(result.communicator, result.sequence, true, &result.bytes);
    // It was waited for: it will not come any more.
    fetched.push_back(got == Fetch::kReady ? Fetch::kReady : Fetch::kLost);
  }
  guard.lock();
  auto operation = queue_.begin();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Both are in the order of the queue; another thread may have performed some meanwhile.
    const auto found = std::find_if(operation, queue_.end(), [&](const Operation& other) {
      return other.kind == Kind::kCollective && other.communicator == results[i].communicator &&
             other.sequence == results[i].sequence;
    });
    if (found == queue_.end()) continue;
    found->bytes = std::move(results[i].bytes);
    found->fetched = fetched[i];
    operation = std::next(found);
  }
}

bool Pending::DrainRange(std::uint64_t address, std::size_t size) {
  std::unique_lock guard(mutex_);
  if (has_deferred()) DrainLocked();
  int steps = kMostLookaheadSteps;
  if (!MayBeKnown(address, size, queue_.size(), steps)) return false;
  // Those that come later, while this thread waits, are not for this range.
  const std::uint64_t end = next_place_;
  std::vector<bool> needed;
  while (true) {
    const auto count = static_cast<std::size_t>(
        std::ranges::count_if(queue_, [&](const Operation& other) { return other.place < end; }));
    needed = NeededFor(address, size, count);
    std::vector<Result> results = ResultsOf(needed);
    if (results.empty()) break;
    Await(std::move(results), guard);
  }
  std::vector<Operation> left;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (i >= needed.size() || !needed[i] || !Perform(queue_[i])) {
      left.push_back(std::move(queue_[i]));
    }
  }
  Replace(std::move(left));
  return true;
}

}  // namespace eidolon::shim::value
