// The size of the memory file is sealed and its parts are allocated in advance: a process that
// truncated it, or a full disk of shared memory, would otherwise kill the agent by SIGBUS. Payloads
// are the exception, since they are large and mostly unused. An answer is built aside and its
// checksum comes from there, so bytes that a program overwrites in the slot do not match it. The
// state is stored last, with release order, and then the waiting thread is woken.
#include "services/agent/ring/segment.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "services/agent/ring/seal.h"
#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/ring/check.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

base::Result<Segment> Segment::Create(const SegmentContent& content, std::uint32_t process,
                                      std::uint64_t start_clock_ps) {
  CHECK(content.devices.size() <= wire::kMaxDevices);
  Segment segment;
  segment.descriptor_ = memfd_create("eidolon-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (segment.descriptor_ < 0 || ftruncate(segment.descriptor_, wire::kSegmentBytes) != 0) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("shared memory for process ", process, ": ", std::strerror(errno)));
  }
  // Memory that is found missing later ends whoever touches it. The payloads between these two take
  // what they need.
  int missing = posix_fallocate(segment.descriptor_, 0, wire::kPayloadsOffset);
  if (missing == 0) {
    missing = posix_fallocate(segment.descriptor_, wire::kRingOffset, wire::kRingBytes);
  }
  if (missing != 0) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("shared memory for process ", process, ": ", std::strerror(missing)));
  }
  if (auto sealed = Seal(segment.descriptor_, Sealed::kSize); !sealed) {
    return std::unexpected(sealed.error());
  }
  void* base = mmap(nullptr, wire::kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                    segment.descriptor_, 0);
  if (base == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("mapping shared memory for process ", process, ": ", std::strerror(errno)));
  }
  segment.base_ = base;
  wire::SegmentHeader& header = *wire::HeaderOf(base);
  header.magic = wire::kMagic;
  header.version = wire::kVersion;
  header.bytes = wire::kSegmentBytes;
  header.process = process;
  header.device_count = static_cast<std::uint32_t>(content.devices.size());
  header.host_model = content.host_model;
  header.strict = content.strict ? 1 : 0;
  header.target_speed = content.target_speed;
  header.speed_ratio = content.speed_ratio;
  header.host_costs = content.host_costs;
  header.start_clock_ps = start_clock_ps;
  header.epoch_unix_ns = content.epoch_unix_ns;
  header.driver_version = content.driver_version;
  header.nccl_version = content.nccl_version;
  const std::size_t name = std::min(content.driver_name.size(), sizeof(header.driver_name) - 1);
  std::copy_n(content.driver_name.begin(), name, header.driver_name);
  header.nccl_channels = content.nccl_channels;
  header.unknown_reads = content.unknown_reads;
  header.folded_ranks = content.folded_ranks;
  wire::CursorsOf(base)->clock_ps.value.store(start_clock_ps);
  std::copy(content.devices.begin(), content.devices.end(), wire::DevicesOf(base));
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      floor_ps_(std::exchange(other.floor_ps_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(floor_ps_, other.floor_ps_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, wire::kSegmentBytes);
  if (descriptor_ >= 0) close(descriptor_);
}

void Segment::SetJitter(const wire::HostJitter& jitter) { *wire::HostJitterOf(base_) = jitter; }

wire::Farewell Segment::farewell() const {
  return static_cast<wire::Farewell>(
      wire::CursorsOf(base_)->farewell.load(std::memory_order_acquire));
}

void Segment::WantTimeline(bool wanted) {
  wire::CursorsOf(base_)->wants_timeline.store(wanted ? 1 : 0, std::memory_order_relaxed);
}

std::uint64_t Segment::clock_ps() const {
  return wire::CursorsOf(base_)->clock_ps.value.load(std::memory_order_acquire);
}

void Segment::RaiseFloor(std::uint64_t floor_ps) {
  if (floor_ps <= floor_ps_) return;
  floor_ps_ = floor_ps;
  wire::Cursors& cursors = *wire::CursorsOf(base_);
  cursors.floor_copy_ps.value.store(floor_ps, std::memory_order_release);
  cursors.floor_ps.value.store(floor_ps, std::memory_order_release);
}

void Segment::Answer(std::uint32_t slot, const Reply& reply) {
  CHECK(slot < wire::kReplySlots);
  wire::ReplySlot& target = wire::RepliesOf(base_)[slot];
  const std::size_t bytes = std::min(reply.payload.size(), wire::kPayloadBytes);
  if (bytes > 0) {
    std::memcpy(wire::PayloadOf(base_, static_cast<int>(slot)), reply.payload.data(), bytes);
  }
  // Made aside: what the check covers is what was meant, whatever somebody writes meanwhile.
  wire::ReplySlot answer{};
  target.status = answer.status = reply.status;
  target.value_ps = answer.value_ps = reply.value_ps;
  target.extra = answer.extra = reply.extra;
  target.payload_bytes = answer.payload_bytes = static_cast<std::uint32_t>(bytes);
  target.check = wire::ReplyCheck(slot, answer, reply.payload.data());
  target.state.store(static_cast<std::uint32_t>(wire::SlotState::kReady),
                     std::memory_order_release);
  syscall(SYS_futex, &target.state, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr,
          0);
}

}  // namespace eidolon::agent::ring
