// A channel's readers and writers are different processes, so each of them counts its bytes in the
// channel itself: the reader's count says which delivery it has reached. That is exact however many
// messages lie in between, where a single "time of the last write" would depend on how fast the two
// processes are on this machine.
//
// Places are found by the key in a window behind it. They are never given back, because neither
// side knows when the other is done; a new channel takes a place over that was not used for long. A
// process may die while it holds a place, which is then taken from it.
#include "shim/program/channel/deliveries.h"

#include <sys/syscall.h>

#include <algorithm>

#include "shim/core/system.h"

namespace eidolon::shim::channel {
namespace {

using eidolon::channel::Channel;
using eidolon::channel::Delivery;
using eidolon::channel::kChannels;
using eidolon::channel::kDeliveries;
using eidolon::channel::kNearPlaces;

constexpr int kSpins = 200;
// Who holds a place for so long is dead: the work on one takes less than a microsecond.
constexpr std::int64_t kPatienceNs = 200'000'000;

void LockPlace(Channel& channel) noexcept {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (channel.busy.exchange(1, std::memory_order_acquire) == 0) return;
    core::SpinPause();
  }
  const std::int64_t begin = core::MonotonicNs();
  while (channel.busy.exchange(1, std::memory_order_acquire) != 0) {
    if (core::MonotonicNs() - begin > kPatienceNs) return;
    core::RawSyscall(SYS_sched_yield);
  }
}

void Unlock(Channel& channel) noexcept { channel.busy.store(0, std::memory_order_release); }

Delivery& Last(Channel& channel) noexcept {
  return channel.deliveries[(channel.next - 1) % kDeliveries];
}

void Clear(Channel& channel) noexcept {
  channel.next = 0;
  channel.sent = 0;
  channel.received = 0;
}

}  // namespace

// Returns the channel's place, locked; null if it has none and none is made.
Channel* Deliveries::Lock(std::uint64_t key, bool make) noexcept {
  for (std::size_t near = 0; near < kNearPlaces; ++near) {
    Channel& place = table_->channels[(key + near) % kChannels];
    const std::uint64_t there = place.key.load(std::memory_order_acquire);
    if (there != key && there != 0) continue;
    if (there == 0 && !make) return nullptr;
    LockPlace(place);
    const std::uint64_t now_there = place.key.load(std::memory_order_relaxed);
    if (now_there == 0 && make) {
      Clear(place);
      place.key.store(key, std::memory_order_release);
    }
    if (now_there == key || (now_there == 0 && make)) {
      place.used = table_->uses.fetch_add(1, std::memory_order_relaxed) + 1;
      return &place;
    }
    Unlock(place);
  }
  return make ? LockOldest(key) : nullptr;
}

Channel* Deliveries::LockOldest(std::uint64_t key) noexcept {
  Channel* oldest = nullptr;
  for (std::size_t near = 0; near < kNearPlaces; ++near) {
    Channel& place = table_->channels[(key + near) % kChannels];
    LockPlace(place);
    if (oldest != nullptr && oldest->used <= place.used) {
      Unlock(place);
      continue;
    }
    if (oldest != nullptr) Unlock(*oldest);
    oldest = &place;
  }
  Clear(*oldest);
  oldest->key.store(key, std::memory_order_release);
  oldest->used = table_->uses.fetch_add(1, std::memory_order_relaxed) + 1;
  return oldest;
}

void Deliveries::Send(std::uint64_t key, std::uint64_t bytes, const time::SentTime& now) noexcept {
  Channel* channel = Lock(key, true);
  channel->sent += bytes;
  Delivery fresh{.end = channel->sent,
                 .time_ps = now.time.ps,
                 .start_up_ps = now.start_up.ps,
                 .sender = now.sender};
  const bool has_last = channel->next > 0;
  // Of two senders the one that is first in the channel may be ahead in time: what is behind it
  // is read after it.
  if (has_last) fresh.time_ps = std::max(fresh.time_ps, Last(*channel).time_ps);
  const bool goes_on =
      has_last && Last(*channel).time_ps == fresh.time_ps && Last(*channel).sender == fresh.sender;
  if (!goes_on) ++channel->next;
  Last(*channel) = fresh;
  Unlock(*channel);
}

void Deliveries::TakeBack(std::uint64_t key, std::uint64_t bytes) noexcept {
  Channel* channel = Lock(key, false);
  if (channel == nullptr) return;
  const std::uint64_t taken = std::min(bytes, channel->sent);
  channel->sent -= taken;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(channel->next, kDeliveries); ++i) {
    std::uint64_t& end = channel->deliveries[(channel->next - 1 - i) % kDeliveries].end;
    if (end <= channel->sent) break;
    end = std::max(channel->sent, end - taken);
  }
  Unlock(*channel);
}

std::optional<time::SentTime> Deliveries::Receive(std::uint64_t key, std::uint64_t bytes) noexcept {
  Channel* channel = Lock(key, false);
  if (channel == nullptr) return std::nullopt;
  // Bytes that somebody sent without noting them are not waited for.
  channel->received = std::min(channel->received + bytes, channel->sent);
  std::optional<time::SentTime> sent;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(channel->next, kDeliveries); ++i) {
    const Delivery& delivery = channel->deliveries[(channel->next - 1 - i) % kDeliveries];
    if (sent && delivery.end < channel->received) break;
    sent = {
        .time = {delivery.time_ps}, .start_up = {delivery.start_up_ps}, .sender = delivery.sender};
  }
  Unlock(*channel);
  return sent;
}

}  // namespace eidolon::shim::channel
