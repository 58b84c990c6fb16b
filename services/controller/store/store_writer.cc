// A job has one duty or offer at most, as a later status contains the earlier one. Retries go in
// rounds: an item is ready while its round is older than the current one. A failure ends the round
// for all items, except for missing space, where a smaller write may still fit. After another
// failure the content of the disk is unknown; a request then stays unsettled until the store was
// opened anew and is_stored has looked. A write can hang in the kernel for ever, so the thread
// shares Core and not the writer: Close leaves it behind as abandoned, after which it touches
// nothing else. The mutex is free during writes and callbacks.
#include "services/controller/store/store_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::controller::store {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Level;
using base::Log;
using base::Result;
using base::StrCat;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kBackOffMin = 50 * kMillisecond;
constexpr std::int64_t kBackOffMax = 2000 * kMillisecond;
constexpr std::int64_t kClosingBackOffMax = 200 * kMillisecond;
// An idle disk is let alone: requests look for space themselves.
constexpr std::int64_t kProbeInterval = 10'000 * kMillisecond;
constexpr std::int64_t kFailingProbeInterval = 500 * kMillisecond;
// A write that takes longer makes the store count as one that cannot be written.
constexpr std::int64_t kSlowNs = 5000 * kMillisecond;
constexpr std::size_t kRequestsMax = 4;  // That wait at a time.
constexpr off_t kProbeBytes = 256 << 10;

// Failures of the store itself, not of what was asked of it.
bool IsOfStore(const base::Error& error) {
  return error.code == ErrorCode::kResourceExhausted || error.code == ErrorCode::kUnavailable ||
         error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kInternal;
}

}  // namespace

Result<void> ProbeFolder(const std::string& folder) {
  const std::string path = folder + "/probe";
  const auto failed = [&](const char* doing) {
    const int error = errno;
    const bool full = error == ENOSPC || error == EDQUOT;
    return Fail(full ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable,
                StrCat(doing, " ", path, ": ", std::strerror(error)));
  };
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return failed("making");
  // Where blocks cannot be had without being written, this writes them.
  errno = posix_fallocate(fd, 0, kProbeBytes);
  Result<void> result;
  if (errno != 0) result = failed("writing");
  close(fd);
  unlink(path.c_str());
  return result;
}

std::string WayOut(const base::Error& error, const std::string& folder) {
  if (error.code == ErrorCode::kResourceExhausted) {
    return StrCat("free space on the disk of ", folder, ", or delete jobs that are over");
  }
  return StrCat("see to the disk of ", folder, ", or restart with another --data-dir");
}

bool Ticket::Begin() {
  const std::lock_guard lock(mutex_);
  if (stage_ == Stage::kWaiting) stage_ = Stage::kBegun;
  return stage_ == Stage::kBegun;
}

void Ticket::Finish() {
  const std::lock_guard lock(mutex_);
  if (stage_ != Stage::kWithdrawn) stage_ = Stage::kDone;
  finished_.notify_all();
}

Ticket::End Ticket::Wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  finished_.wait_for(lock, limit,
                     [&] { return stage_ == Stage::kDone || stage_ == Stage::kWithdrawn; });
  if (stage_ == Stage::kDone) return End::kDone;
  if (stage_ == Stage::kBegun) return End::kUnknown;
  stage_ = Stage::kWithdrawn;
  return End::kWithdrawn;
}

// State that the thread and its owner share. A thread that hangs in a write keeps it after the
// owner has gone.
struct StoreWriter::Core {
  enum class Kind { kRequest, kDuty, kOffer };
  enum class Phase { kIdle, kWriting, kCalling };
  struct Item {
    Kind kind = Kind::kDuty;
    Request request;
    Duty duty;
    std::shared_ptr<Ticket> ticket;
    std::optional<base::Error> unsettled;  // A request that failed; is it on the disk?
    std::uint64_t round = 0;               // Of retries, in which it was tried last.
  };

  struct Current {
    Kind kind = Kind::kDuty;
    std::string what;
  };

  Core(StoreWriterOptions wanted, JobStore opened, const base::RealClock& real)
      : options(std::move(wanted)), store(std::move(opened)), clock(real) {}

  // The thread. `lock` holds the mutex, except while something is written or told.
  void Loop();
  std::optional<Item> TakeNext(std::int64_t now_ns);
  void Process(Item item, std::unique_lock<std::mutex>& lock);
  void ProcessRequest(Item item, std::unique_lock<std::mutex>& lock);
  Result<void> Try(Item& item, std::unique_lock<std::mutex>& lock);
  void Probe(std::unique_lock<std::mutex>& lock);
  Result<void> ProbeSpace(std::unique_lock<std::mutex>& lock);
  Result<void> Write(std::unique_lock<std::mutex>& lock, const std::function<Result<void>()>& call);
  void Tell(const std::function<void()>& call, std::unique_lock<std::mutex>& lock);
  // Opens the store again when that is needed.
  Result<void> Heal();
  // Need the mutex.
  void NoteWritten();
  void NoteFailed(const base::Error& error, const std::string& what);
  std::size_t CountDuties() const;
  Result<void> Writable() const;

  const StoreWriterOptions options;
  JobStore store;       // Of the thread.
  bool broken = false;  // Of the thread: the store must be opened again.
  const base::RealClock& clock;

  mutable std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  std::deque<Item> items;
  std::optional<Current> current;      // What is being written.
  std::optional<base::Error> failure;  // Of the last write.
  std::optional<base::Error> full;     // Of the last probe of the folder.
  Phase phase = Phase::kIdle;
  std::int64_t begun_ns = 0;
  std::int64_t probe_ns = 0;  // When to probe next.
  std::int64_t retry_ns = 0;  // When the next round of retries begins.
  std::int64_t back_off = kBackOffMin;
  std::uint64_t round = 1;
  std::uint64_t failed_writes = 0;
  bool closing = false;
  bool ending = false;
  bool abandoned = false;  // The owner has gone: nothing but this may be touched.
};

std::size_t StoreWriter::Core::CountDuties() const {
  const auto is_duty = [](const Item& item) { return item.kind == Kind::kDuty; };
  const auto waiting = std::count_if(items.begin(), items.end(), is_duty);
  const bool now = current && current->kind == Kind::kDuty;
  return static_cast<std::size_t>(waiting) + (now ? 1 : 0);
}

Result<void> StoreWriter::Core::Writable() const {
  if (failure) return std::unexpected(*failure);
  if (full) return std::unexpected(*full);
  const std::int64_t taken_ns = clock.MonotonicNs() - begun_ns;
  if (phase == Phase::kWriting && taken_ns > kSlowNs) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("a write to ", options.folder, " takes longer than ",
                       kSlowNs / 1'000'000'000, " s"));
  }
  return {};
}

void StoreWriter::Core::NoteWritten() {
  if (failure) {
    Log(Level::kInfo, "store_is_written_again", {{"unsaved", StrCat(CountDuties())}});
    ++round;
  }
  failure.reset();
  back_off = kBackOffMin;
}

void StoreWriter::Core::NoteFailed(const base::Error& error, const std::string& what) {
  ++failed_writes;
  if (!failure || failure->message != error.message) {
    Log(Level::kError, "store_not_written", {{"what", what}, {"reason", error.message}});
  }
  failure = error;
  retry_ns = clock.MonotonicNs() + back_off;
  back_off = std::min(2 * back_off, closing ? kClosingBackOffMax : kBackOffMax);
  if (error.code == ErrorCode::kResourceExhausted) return;  // A smaller one may find space.
  broken = true;
  for (Item& item : items) item.round = round;
}

// Requests and offers are ready at once, retries once a round. Only if nothing is ready and the
// pause is over, a new round begins, with the item at the front.
std::optional<StoreWriter::Core::Item> StoreWriter::Core::TakeNext(std::int64_t now_ns) {
  const auto is_ready = [&](const Item& item) {
    if (item.kind == Kind::kDuty || item.unsettled) return item.round < round;
    return true;
  };
  auto found = std::find_if(items.begin(), items.end(), is_ready);
  if (found == items.end() && !items.empty() && now_ns >= retry_ns) {
    ++round;
    found = items.begin();
  }
  if (found == items.end()) return std::nullopt;
  Item item = std::move(*found);
  items.erase(found);
  item.round = round;
  return item;
}

Result<void> StoreWriter::Core::Heal() {
  if (!broken) return {};
  auto opened = store.Reopen();
  broken = !opened;
  return opened;
}

Result<void> StoreWriter::Core::Write(std::unique_lock<std::mutex>& lock,
                                      const std::function<Result<void>()>& call) {
  phase = Phase::kWriting;
  begun_ns = clock.MonotonicNs();
  lock.unlock();
  auto result = call();
  lock.lock();
  phase = Phase::kIdle;
  changed.notify_all();
  return result;
}

void StoreWriter::Core::Tell(const std::function<void()>& call,
                             std::unique_lock<std::mutex>& lock) {
  if (call == nullptr) return;
  phase = Phase::kCalling;
  lock.unlock();
  {
    const std::lock_guard guard(*options.guard);
    call();
  }
  lock.lock();
  phase = Phase::kIdle;
}

void StoreWriter::Core::Process(Item item, std::unique_lock<std::mutex>& lock) {
  if (item.kind == Kind::kRequest) return ProcessRequest(std::move(item), lock);
  if (item.kind == Kind::kOffer && failure) return;
  current = Current{item.kind, item.duty.what};
  const auto written = Write(lock, [&]() -> Result<void> {
    if (auto healed = Heal(); !healed) return healed;
    return item.duty.write(store);
  });
  if (abandoned) return;
  if (written) {
    NoteWritten();
    Tell(item.duty.done, lock);
    current.reset();
    return;
  }
  current.reset();
  NoteFailed(written.error(), item.duty.what);
  const bool replaced = std::any_of(items.begin(), items.end(), [&](const Item& other) {
    return other.kind != Kind::kRequest && other.duty.job == item.duty.job;
  });
  if (item.kind == Kind::kDuty && !replaced) items.push_front(std::move(item));
}

Result<void> StoreWriter::Core::ProbeSpace(std::unique_lock<std::mutex>& lock) {
  const auto space = Write(lock, [this] { return ProbeFolder(options.folder); });
  if (abandoned) return space;
  if (!space && !full) {
    Log(Level::kError, "no_space_for_the_store", {{"reason", space.error().message}});
  }
  if (space && full) {
    Log(Level::kInfo, "space_for_the_store_again", {{"folder", options.folder}});
  }
  full = space ? std::nullopt : std::optional(space.error());
  return space;
}

// Leaves the item unsettled when it is open what came of it.
Result<void> StoreWriter::Core::Try(Item& item, std::unique_lock<std::mutex>& lock) {
  if (!item.ticket->Begin()) {
    return Fail(ErrorCode::kUnavailable, "nobody waits for it any more");
  }
  if (closing) return Fail(ErrorCode::kUnavailable, "the controller is being stopped");
  if (failure) return std::unexpected(*failure);
  if (!item.request.frees_space) {
    if (auto space = ProbeSpace(lock); abandoned || !space) return space;
  }
  auto written = Write(lock, [&]() -> Result<void> { return item.request.write(store); });
  if (abandoned) return written;
  if (written || !IsOfStore(written.error())) {
    NoteWritten();
    return written;
  }
  NoteFailed(written.error(), "a request");
  if (broken) item.unsettled = written.error();
  return written;
}

void StoreWriter::Core::ProcessRequest(Item item, std::unique_lock<std::mutex>& lock) {
  Result<void> result;
  if (!item.unsettled) result = Try(item, lock);
  if (abandoned) return;
  if (item.unsettled) {
    bool known = false;
    result = Write(lock, [&]() -> Result<void> {
      if (auto healed = Heal(); !healed) return healed;
      if (!item.request.is_stored) return std::unexpected(*item.unsettled);
      const auto stored = item.request.is_stored(store);
      if (!stored) return std::unexpected(stored.error());
      known = true;
      if (*stored) return {};
      return std::unexpected(*item.unsettled);
    });
    if (abandoned) return;
    if (known) NoteWritten();
    if (!known && item.request.is_stored && !ending) {
      NoteFailed(result.error(), "opening the store again");
      item.round = round;
      items.push_front(std::move(item));
      return;
    }
  }
  Tell([&] { item.request.done(result); }, lock);
  item.ticket->Finish();
}

void StoreWriter::Core::Probe(std::unique_lock<std::mutex>& lock) {
  const auto space = ProbeSpace(lock);
  if (abandoned) return;
  // What waits to be written tells as much.
  const bool failing = failure.has_value() && items.empty();
  const auto written = Write(lock, [&]() -> Result<void> {
    if (failing) {
      if (auto healed = Heal(); !healed) return healed;
      return store.Probe();
    }
    if (space && !broken) (void)store.KeepReserve();  // With less space than that it goes on.
    return {};
  });
  if (abandoned) return;
  if (failing && written) NoteWritten();
  if (failing && !written) NoteFailed(written.error(), "a trial");
  probe_ns = clock.MonotonicNs() + (full || failure ? kFailingProbeInterval : kProbeInterval);
}

void StoreWriter::Core::Loop() {
  std::unique_lock lock(mutex);
  while (!abandoned) {
    const std::int64_t now_ns = clock.MonotonicNs();
    if (auto item = TakeNext(now_ns)) {
      Process(std::move(*item), lock);
      changed.notify_all();
      continue;
    }
    if (ending) return;
    if (now_ns >= probe_ns && !closing) {
      Probe(lock);
      continue;
    }
    std::int64_t until = closing ? now_ns + kClosingBackOffMax : probe_ns;
    if (!items.empty()) until = std::min(until, retry_ns);
    changed.wait_for(lock, std::chrono::nanoseconds(std::max(until - now_ns, kMillisecond)));
  }
}

StoreWriter::StoreWriter(StoreWriterOptions options, JobStore store, const base::RealClock& clock)
    : core_(std::make_shared<Core>(std::move(options), std::move(store), clock)) {
  core_->probe_ns = clock.MonotonicNs();
  thread_ = std::thread([core = core_] { core->Loop(); });
}

StoreWriter::~StoreWriter() { (void)Close(std::chrono::milliseconds(0)); }

Result<std::shared_ptr<Ticket>> StoreWriter::Ask(Request request) {
  Core& core = *core_;
  const std::lock_guard lock(core.mutex);
  const bool full_is_fine = request.frees_space && core.full && !core.failure;
  if (auto writable = core.Writable(); !writable && !full_is_fine) {
    return std::unexpected(writable.error());
  }
  const auto waiting = std::count_if(core.items.begin(), core.items.end(), [](const auto& item) {
    return item.kind == Core::Kind::kRequest;
  });
  if (static_cast<std::size_t>(waiting) >= kRequestsMax) {
    return Fail(ErrorCode::kUnavailable, StrCat(waiting, " requests wait for ", core.options.folder,
                                                " to be written already"));
  }
  auto ticket = std::make_shared<Ticket>();
  core.items.push_back({.kind = Core::Kind::kRequest,
                        .request = std::move(request),
                        .duty = {},
                        .ticket = ticket,
                        .unsettled = std::nullopt});
  core.changed.notify_all();
  return ticket;
}

void StoreWriter::Keep(Duty duty) {
  Core& core = *core_;
  const std::lock_guard lock(core.mutex);
  std::erase_if(core.items, [&](const Core::Item& item) {
    return item.kind != Core::Kind::kRequest && item.duty.job == duty.job;
  });
  core.items.push_back({.kind = Core::Kind::kDuty,
                        .request = {},
                        .duty = std::move(duty),
                        .ticket = nullptr,
                        .unsettled = std::nullopt});
  core.changed.notify_all();
}

void StoreWriter::Offer(Duty duty) {
  Core& core = *core_;
  const std::lock_guard lock(core.mutex);
  if (core.failure || core.full) return;
  for (Core::Item& item : core.items) {
    if (item.kind == Core::Kind::kRequest || item.duty.job != duty.job) continue;
    if (item.kind == Core::Kind::kOffer) item.duty = std::move(duty);
    return;
  }
  core.items.push_back({.kind = Core::Kind::kOffer,
                        .request = {},
                        .duty = std::move(duty),
                        .ticket = nullptr,
                        .unsettled = std::nullopt});
  core.changed.notify_all();
}

bool StoreWriter::TakeBack(std::int64_t job) {
  Core& core = *core_;
  const std::lock_guard lock(core.mutex);
  return std::erase_if(core.items, [&](const Core::Item& item) {
           return item.kind == Core::Kind::kDuty && item.duty.job == job;
         }) > 0;
}

StoreState StoreWriter::state() const {
  const std::lock_guard lock(core_->mutex);
  return {core_->Writable(), core_->CountDuties(), core_->failed_writes};
}

std::vector<std::string> StoreWriter::Close(std::chrono::milliseconds limit) {
  if (!thread_.joinable()) return {};
  std::vector<std::string> left;
  Core& core = *core_;
  const auto take_duties = [&] {
    for (const Core::Item& item : core.items) {
      if (item.kind == Core::Kind::kDuty) left.push_back(item.duty.what);
    }
    std::erase_if(core.items, [](const auto& item) { return item.kind != Core::Kind::kRequest; });
  };
  {
    std::unique_lock lock(core.mutex);
    core.closing = true;
    core.retry_ns = 0;
    core.back_off = kBackOffMin;
    core.changed.notify_all();
    core.changed.wait_for(lock, limit, [&] { return core.CountDuties() == 0; });
    take_duties();
    core.ending = true;
    core.changed.notify_all();
    // A write of the disk that does not end is left behind; nobody can wait for it.
    core.abandoned = !core.changed.wait_for(lock, std::chrono::nanoseconds(kSlowNs),
                                            [&] { return core.phase != Core::Phase::kWriting; });
    if (core.abandoned && core.current && core.current->kind == Core::Kind::kDuty) {
      left.push_back(core.current->what);
    }
  }
  if (core.abandoned) {
    thread_.detach();
    return left;
  }
  thread_.join();
  take_duties();
  return left;
}

}  // namespace eidolon::controller::store
