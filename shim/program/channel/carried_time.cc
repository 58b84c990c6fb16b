#include "shim/program/channel/carried_time.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "services/contract/channel/delivery_table.h"
#include "shim/core/server_page.h"
#include "shim/core/system.h"
#include "shim/program/channel/channel_key.h"
#include "shim/program/channel/deliveries.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::channel {
namespace {

using eidolon::channel::DeliveryTable;

// True in calls of the shim, whose own bytes carry nothing.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_inside = false;

class Inside {
 public:
  Inside() noexcept : error_(errno), is_first_(!is_inside) { is_inside = true; }
  ~Inside() {
    if (is_first_) is_inside = false;
    errno = error_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  bool is_first() const noexcept { return is_first_; }

 private:
  int error_;
  bool is_first_;
};

// Published once; kMissing stands for a remembered failure.
constinit std::atomic<DeliveryTable*> table{nullptr};
DeliveryTable* const kMissing = reinterpret_cast<DeliveryTable*>(1);

DeliveryTable* MapTable() noexcept {
  char path[4096];
  const int length = std::snprintf(path, sizeof(path), "%s/channels", core::RunDirectory());
  if (length < 0 || length >= static_cast<int>(sizeof(path))) return kMissing;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return kMissing;
  void* mapped = mmap(nullptr, sizeof(DeliveryTable), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  core::RawSyscall(SYS_close, file);
  return mapped == MAP_FAILED ? kMissing : static_cast<DeliveryTable*>(mapped);
}

// Null outside a job.
DeliveryTable* Table() noexcept {
  DeliveryTable* known = table.load(std::memory_order_acquire);
  if (known == nullptr) {
    // Threads that race here map the table twice; one mapping wins, the other is a spare one.
    DeliveryTable* fresh = time::InJob() && core::RunDirectory() != nullptr ? MapTable() : kMissing;
    if (table.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) known = fresh;
  }
  return known == kMissing ? nullptr : known;
}

// More than any channel of notes holds: readers of notes take the last one.
constexpr std::uint64_t kAllNotes = std::uint64_t{1} << 40;

bool ApplyDelivery(std::uint64_t key, std::uint64_t bytes) noexcept {
  const auto sent = Deliveries(Table()).Receive(key, bytes);
  if (sent) time::ReceiveTime(*sent);
  return sent.has_value();
}

// Starts the process at the time at which it became this program, or its parent started it.
[[gnu::constructor]] void Begin() {
  const Inside inside;
  if (Table() == nullptr || !time::ReceivesTime()) return;
  if (!ApplyDelivery(ProgramKey(getpid()), kAllNotes))
    ApplyDelivery(ChildrenKey(getppid()), kAllNotes);
}

void Note(std::uint64_t (*key)(pid_t)) noexcept {
  const Inside inside;
  if (!inside.is_first() || Table() == nullptr || !time::SendsTime()) return;
  Deliveries(Table()).Send(key(getpid()), 1, time::TimeToSend());
}

}  // namespace

Sending::Sending(int file, std::size_t bytes) noexcept {
  const Inside inside;
  if (!inside.is_first() || bytes == 0 || Table() == nullptr) return;
  const std::uint64_t key = SendingKey(file);  // 0 for files, which are written most.
  if (key == 0 || !time::SendsTime()) return;
  key_ = key;
  bytes_ = bytes;
  Deliveries(Table()).Send(key, bytes, time::TimeToSend());
}

void Sending::Ended(ssize_t sent) noexcept {
  const std::size_t accepted = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (key_ == 0 || accepted >= bytes_) return;
  const Inside inside;
  Deliveries(Table()).TakeBack(key_, bytes_ - accepted);
}

void Received(int file, ssize_t bytes) noexcept {
  if (bytes <= 0) return;
  const Inside inside;
  if (!inside.is_first() || Table() == nullptr || time::IsFutureRank()) return;
  const std::uint64_t key = ReceivingKey(file);
  if (key != 0 && time::ReceivesTime()) ApplyDelivery(key, static_cast<std::uint64_t>(bytes));
}

void NoteEnd() noexcept { Note(EndKey); }

void NoteNewProgram() noexcept {
  if (time::FollowsReceivedTime()) Note(ProgramKey);
}

void NoteNewChild() noexcept {
  if (time::FollowsReceivedTime()) Note(ChildrenKey);
}

void FoundEnded(pid_t child) noexcept {
  const Inside inside;
  if (!inside.is_first() || child <= 0 || Table() == nullptr || !time::ReceivesTime()) return;
  ApplyDelivery(EndKey(child), kAllNotes);
}

}  // namespace eidolon::shim::channel
