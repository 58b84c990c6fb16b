// Every operation has two starts. The local one is known at once and decides all that must not
// depend on other servers: how long the operation takes beside its neighbours, and at which clock.
// The real one may wait for a collective. Both follow the same rule, the later of the input's end
// plus the gap and of the moment at which the GPU knows of the call. An operation whose real input
// is known is resolved here and never stored, which keeps launches cheap while no collective is
// open.
#include "services/agent/device/dispatcher.h"

#include <algorithm>

namespace eidolon::agent::device {

using base::Duration;
using base::SimTime;

Duration DurationOn(const Traits& device, const Work& work) {
  if (device.slowness == 0 || !work.clock_bound) return work.duration;
  constexpr std::int64_t kMillion = 1'000'000;
  const base::Wide scaled =
      static_cast<base::Wide>(work.duration.ps) * (kMillion + device.slowness);
  return {static_cast<std::int64_t>(scaled / kMillion)};
}

Signal Dispatcher::AddWork(const Place& place, const Signal& after, const Work& work, OpKind kind) {
  EmulatedGpu& gpu = (*parts_.gpus)[place.device];
  const Duration gap = place.gap;
  const SimTime local = std::max(after.local + gap, place.host_ready);
  const bool limited = gpu.power.IsLimited();
  const Duration burst = DurationOn(gpu.traits, work);
  const Duration alone = limited ? gpu.power.Stretch(local, burst, work.draw) : burst;
  const auto [duration, delayed] = gpu.contention.Place({.lane = place.lane,
                                                         .resource = work.resource,
                                                         .share = work.share,
                                                         .memory = work.memory,
                                                         .start = local,
                                                         .alone = alone,
                                                         .issued = place.host_clock});
  for (const Contention::Delayed& lane : delayed) parts_.streams->Delay(place.device, lane);
  ResolvedOp op{.sequence = next_sequence_++,
                .stream = place.stream,
                .device = place.device,
                .kind = kind,
                .host_bound = false,
                .tag = work.tag,
                .ready = std::max(after.at + gap, place.host_ready),
                .released_by = after.at + gap >= place.host_ready ? after.source : 0};
  if (limited) {
    op.microjoules = gpu.power.Spend(local, duration, burst, work.draw);
    op.milliwatts = static_cast<std::uint32_t>(gpu.power.milliwatts());
  }
  if (kind == OpKind::kWork) {
    gpu.history.Add({.start = local,
                     .end = local + duration,
                     .microjoules = op.microjoules,
                     .memory = work.memory,
                     .clock = gpu.power.clock()},
                    place.host_clock);
  }
  if (after.node == 0) {
    op.start = op.ready;
    op.finish = op.start + duration;
    op.host_bound = op.start == place.host_ready;
    parts_.sink->OpResolved(op);
    return {.node = 0, .at = op.finish, .local = local + duration, .source = op.sequence + 1};
  }
  return parts_.work->AddWork(after, {.op = op,
                                      .owner = place.tail,
                                      .local_end = local + duration,
                                      .host_ready = place.host_ready,
                                      .gap = gap,
                                      .duration = duration});
}

Signal Dispatcher::AddCallback(const Place& place, const Signal& after) {
  const Work work{.duration = (*parts_.gpus)[place.device].traits.callback_cost,
                  .resource = Resource::kNone};
  return AddWork(place, after, work, OpKind::kCallback);
}

namespace {

// The share of the memory's bandwidth that the collective takes over its isolated estimate.
std::uint32_t MemoryShare(const Traits& gpu, const Collective& collective) {
  if (gpu.memory_bytes_per_second == 0 || collective.estimate.ps <= 0) return 0;
  constexpr base::Wide kPsPerSecond = 1'000'000'000'000;
  const auto could =
      static_cast<base::Wide>(gpu.memory_bytes_per_second) * collective.estimate.ps / kPsPerSecond;
  const auto moved = static_cast<base::Wide>(collective.memory_bytes);
  if (moved >= could) return moved > 0 ? kWholeShare : 0;
  return static_cast<std::uint32_t>(moved * kWholeShare / could);
}

}  // namespace

// By value: `after` may lie in the table, which a new communicator lets grow.
Signal Dispatcher::AddCollective(const Place& place, Signal after, const Collective& collective) {
  EmulatedGpu& gpu = (*parts_.gpus)[place.device];
  const SignalTable::Slot* known = communicators_.Find(collective.communicator);
  const SignalTable::Slot communicator =
      known != nullptr ? *known
                       : communicators_.Insert(collective.communicator, parts_.signals->Add());
  const Signal input = parts_.work->Merge(after, (*parts_.signals)[communicator], place.tail);
  const Duration gap = place.gap;
  const SimTime local = std::max(input.local + gap, place.host_ready);
  const auto share = std::min<std::uint64_t>(
      kWholeShare, std::uint64_t{collective.channels} * kWholeShare / gpu.traits.multiprocessors);
  const std::uint32_t memory = MemoryShare(gpu.traits, collective);
  const auto delayed = gpu.contention.Hold({.lane = place.lane,
                                            .share = static_cast<std::uint32_t>(share),
                                            .memory = memory,
                                            .start = local,
                                            .alone = collective.estimate,
                                            .issued = place.host_clock});
  for (const Contention::Delayed& lane : delayed) parts_.streams->Delay(place.device, lane);
  gpu.history.Add({.start = local,
                   .end = local + collective.estimate,
                   .memory = memory,
                   .clock = gpu.power.clock()},
                  place.host_clock);
  const ResolvedOp op{.sequence = next_sequence_++,
                      .stream = place.stream,
                      .device = place.device,
                      .kind = OpKind::kCollective,
                      .host_bound = false,
                      .tag = collective.tag,
                      .ready = std::max(input.at + gap, place.host_ready),
                      .released_by = input.at + gap >= place.host_ready ? input.source : 0};
  return parts_.work->AddCollective(input,
                                    {.op = op,
                                     .owner = place.tail,
                                     .local_end = local + collective.estimate,
                                     .host_ready = place.host_ready,
                                     .gap = gap,
                                     .duration = collective.at_least,
                                     .tells_bound = collective.tells_bound},
                                    collective.token, communicator);
}

}  // namespace eidolon::agent::device
