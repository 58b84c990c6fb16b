// The shared segment of one session, as the agent makes it, and the agent's answers in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/ring/host_jitter.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// Contents of every session's segment of a server.
struct SegmentContent {
  std::vector<wire::DeviceProperties> devices;
  wire::HostModel host_model = wire::HostModel::kMeasured;
  bool strict = false;
  double target_speed = 1.0;  // Relative to the processor of services/base/host_speed.
  double speed_ratio = 0;     // If above zero instead: relative to this machine's.
  wire::HostCosts host_costs{};
  wire::HostJitter jitter{};  // With the seed of the job.
  std::int64_t epoch_unix_ns = 0;
  std::uint32_t driver_version = 0;
  std::uint32_t nccl_version = 0;
  std::string driver_name;
  std::uint32_t nccl_channels = 0;
  std::uint32_t unknown_reads = 0;
  std::uint32_t folded_ranks = 0;
};

struct Reply {
  wire::ReplyStatus status = wire::ReplyStatus::kOk;
  std::uint64_t value_ps = 0;
  std::uint64_t extra = 0;
  std::span<const std::byte> payload;  // At most kPayloadBytes; longer is cut.
};

// Owns the memory file, whose size is sealed, and its mapping. What stands in it is only written:
// the process can write there too. Movable. Not thread safe.
class Segment {
 public:
  // Makes and fills a segment for the process with the given number.
  static base::Result<Segment> Create(const SegmentContent& content, std::uint32_t process,
                                      std::uint64_t start_clock_ps);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  void* base() const { return base_; }
  // Delays of the process's host work, with a seed of its own. Before the process gets the segment.
  void SetJitter(const wire::HostJitter& jitter);
  // The memory file, to hand over; the segment keeps it.
  int descriptor() const { return descriptor_; }

  // The shim's clock. It can jump when the process is damaged; callers keep their own maximum.
  std::uint64_t clock_ps() const;
  // Returns how the process said that it goes.
  wire::Farewell farewell() const;
  // Sets whether the process reports the lines of its calls (services/contract/ring/python_line.h),
  // and the contents of its memory (services/contract/ring/memory_block.h).
  void WantTimeline(bool wanted);
  // The clock must be at least this at the process's next call. Grows only.
  void RaiseFloor(std::uint64_t floor_ps);
  // Answers the thread that waits in `slot`. Requires: slot < kReplySlots.
  void Answer(std::uint32_t slot, const Reply& reply);

 private:
  Segment() = default;
  void* base_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t floor_ps_ = 0;
};

}  // namespace eidolon::agent::ring
