// Sharing of one emulated GPU between operations that overlap: how long work takes beside other
// work.
//
// It looks at the *local timeline*: the times operations would have if every collective took its
// isolated estimate from the moment this device is ready for it. The local timeline is known when
// an operation is enqueued and does not depend on other servers, so neither do the durations made
// here: they are a function of the program alone, whatever order answers from the network arrive
// in. What peers add moves an operation and its neighbours together, so overlaps found locally hold
// well in the real one.
//
// Rules
//   * Multiprocessors: leftover policy. Work issued earlier keeps its share; work issued later that
//     overlaps it progresses at (what is left) / (what it could use). A kernel that fills the GPU
//     alone leaves nothing: kernels of several streams then take as long as one behind the other.
//   * Priorities: as blocks of lower priority end, those of a higher stream priority take their
//     place. Work of such a stream runs as if work of lower priority were not there, and pushes it.
//   * A collective holds channels / multiprocessors from its start on, also beside work that was
//     issued before it: blocks of that work end all the time, and the collective's take their place
//     (its stream mostly has the higher priority). What was placed keeps its times, which others
//     may have seen; the delay falls on what its stream does next. Work inside a graph cannot be
//     pushed and keeps its share.
//   * Memory: the same leftover policy for the share of its bandwidth that work takes when alone;
//     of multiprocessors and memory, the scarcer one counts. What fits in L2 takes none. A
//     collective takes its bytes of the memory as it takes multiprocessors, from what was issued
//     before it and from what comes later.
//   * Copy engines: one copy a direction at a time, in program order.
// Not modelled: what work loses in a shared L2, what a collective loses beside kernels, how long
// blocks of lower priority take to end. Among streams of one priority, a kernel also waits for
// kernels that were issued before it and start later.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// Resources that an operation occupies while it runs.
enum class Resource : std::uint8_t {
  kMultiprocessors,
  kCopyIn,    // Host to device.
  kCopyOut,   // Device to host.
  kCopyPeer,  // To another GPU.
  kNone,      // Nothing that others wait for.
};
inline constexpr int kSharedResources = 4;

// Shares count in 1/1024 of the resource.
inline constexpr std::uint32_t kWholeShare = 1024;

// One device of one process. A lane holds operations that never overlap (a stream, a branch of a
// graph).
class Contention {
 public:
  // `gap`: from the end of an operation to the start of the next in its stream.
  explicit Contention(base::Duration gap = {}) : gap_(gap) {}

  // Work of a lane that can be delayed moves when a collective comes beside it, or work of a higher
  // priority. Priorities are CUDA's, of which the lower number comes first.
  enum class Delay : std::uint8_t { kPossible, kNever };
  int AddLane(Delay delay = Delay::kPossible, int priority = 0);
  void RemoveLane(int lane);

  struct Request {
    int lane = 0;  // Negative: takes no part.
    Resource resource = Resource::kMultiprocessors;
    std::uint32_t share = kWholeShare;  // Of the resource, when alone.
    std::uint32_t memory = 0;           // Of the memory's bandwidth, when alone.
    base::SimTime start;
    base::Duration alone;  // How long it takes with nothing beside it.
    base::SimTime issued;  // Host clock of the call: nothing later starts before it.
  };
  // Work of a lane that ends later than was said.
  struct Delayed {
    int lane = 0;
    base::SimTime end;  // As was said, of the lane's last work.
    base::Duration by;
  };
  // The span is how long work takes where it was placed. There is one entry for each lane that it
  // delays; they live until the next call.
  struct Placed {
    base::Duration span;
    std::span<const Delayed> delayed;
  };
  // Places work behind what was placed before. Requires: start is not before the end of the lane's
  // previous request.
  Placed Place(const Request& request);

  // Occupies a share for a fixed span, whatever else runs: collectives. The answer, one entry for
  // each lane that is delayed, lives until the next call.
  std::span<const Delayed> Hold(const Request& request);

 private:
  struct Window {
    base::SimTime start;
    base::SimTime end;
    std::uint32_t share;
    std::uint32_t memory;
    bool held;  // By a collective, which nothing delays.
  };
  struct Lane {
    bool in_use = false;
    Delay delay = Delay::kPossible;
    int priority = 0;
    std::deque<Window> windows[kSharedResources];  // In time order, never overlapping.
  };

  // A lane remembers at most this many windows; a host that runs further ahead loses the oldest.
  static constexpr std::size_t kWindowLimit = 4096;

  base::SimTime FindEnd(const Request& request) const;
  // Returns whether work of a lane of this priority pushes the other lane's work.
  bool Pushes(int priority, const Lane& other) const;
  // Pushes the work of a lane, and notes the delay.
  void PushLane(std::size_t lane, std::size_t resource, const Window& newcomer);
  void Remember(const Request& request, base::SimTime end, bool held);
  // Returns how much later the lane's last work ends beside the newcomer; its windows move.
  base::Duration Push(std::deque<Window>& windows, const Window& newcomer) const;

  base::Duration gap_;
  std::vector<Lane> lanes_;
  bool has_priorities_ = false;             // Lanes differ in it.
  std::vector<Delayed> delayed_;            // Answer of Hold and Place.
  std::vector<const Window*> overlapping_;  // Scratch of Place.
};

}  // namespace eidolon::agent::device
