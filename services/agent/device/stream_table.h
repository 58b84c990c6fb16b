// The streams of a process's GPUs: what each of them did last, and the rules of the legacy default
// stream, which follows all work of blocking streams and comes before all of their later work.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "services/agent/device/contention.h"
#include "services/agent/device/emulated_gpu.h"
#include "services/agent/device/id_map.h"
#include "services/agent/device/open_work.h"
#include "services/agent/device/signal_table.h"
#include "services/base/error.h"

namespace eidolon::agent::device {

struct Stream {
  std::uint32_t id = 0;  // 0: the legacy default stream of its device.
  std::uint16_t device = 0;
  bool non_blocking = false;
  int lane = 0;                // In the device's contention.
  SignalTable::Slot tail = 0;  // The end of all that was issued to it.
};

// Identifiers are unique in the process, except that each device has a legacy default stream 0.
// Owned by the engine; no threads. Failures name the unknown thing. Pointers to streams live until
// the next Create or Destroy.
class StreamTable {
 public:
  // All outlive it, and `gpus` keeps its size. Makes the legacy stream of each.
  StreamTable(std::vector<EmulatedGpu>* gpus, SignalTable* signals, OpenWork* work);

  base::Result<void> Create(std::uint16_t device, std::uint32_t stream, bool non_blocking,
                            int priority = 0);
  // The device does not forget the end of its work.
  base::Result<void> Destroy(std::uint32_t stream);

  base::Result<const Stream*> Find(std::uint16_t device, std::uint32_t stream) {
    const Stream* found = streams_.Find(KeyOf(device, stream));
    if (found != nullptr && found->device == device) return found;
    return std::unexpected(DescribeUnknown(device, stream));
  }
  // Comes before anything that is issued to the stream: its tail now waits for what the legacy
  // rules ask.
  void FollowLegacyRules(const Stream& stream) {
    const Members& members = members_[stream.device];
    if (stream.id == 0) {
      for (const SignalTable::Slot other : members.blocking) Follow(stream.tail, other);
    } else if (!stream.non_blocking) {
      Follow(stream.tail, members.legacy.tail);
    }
  }
  const Signal& TailOf(const Stream& stream) const { return (*signals_)[stream.tail]; }

  // Work of a lane ends later than was said: so does what its stream does next.
  void Delay(std::uint16_t device, const Contention::Delayed& delayed);

  // Returns when all work of the device ends, that of destroyed streams included.
  base::Result<Signal> EndOf(std::uint16_t device);

 private:
  // A stream as its device knows it.
  struct Member {
    SignalTable::Slot tail = 0;
    int lane = 0;
  };
  struct Members {
    Member legacy;
    std::vector<Member> others;               // In order of creation.
    std::vector<SignalTable::Slot> blocking;  // Tails of those that follow the legacy rules.
    SignalTable::Slot orphans = 0;            // Ends of destroyed streams' work.
  };

  // The legacy default stream of a device has a key that no stream identifier can be.
  static std::uint64_t KeyOf(std::uint16_t device, std::uint32_t stream) {
    return stream != 0 ? stream : (std::uint64_t{1} << 40 | device);
  }
  void Follow(SignalTable::Slot tail, SignalTable::Slot other) {
    work_->Assign(tail, work_->Merge((*signals_)[tail], (*signals_)[other], tail));
  }
  base::Result<void> CheckDevice(std::uint16_t device) const;
  // Returns why Find failed.
  base::Error DescribeUnknown(std::uint16_t device, std::uint32_t stream);

  std::vector<EmulatedGpu>* gpus_;
  SignalTable* signals_;
  OpenWork* work_;
  IdMap<Stream> streams_;
  std::vector<Members> members_;  // By device.
};

}  // namespace eidolon::agent::device
