#include "services/agent/server/sensors.h"

#include <algorithm>
#include <vector>

namespace eidolon::agent::server {

using base::Duration;
using base::SimTime;
using base::Wide;
using device::LoadHistory;

namespace {

// One device, of all processes.
class Readings {
 public:
  Readings(const device::PowerTraits& power, const Processes& processes, std::uint16_t device)
      : power_(power) {
    for (const auto& [number, session] : processes.all()) {
      const LoadHistory& history = session->HistoryOf(device);
      if (!history.IsEmpty()) histories_.push_back(&history);
    }
  }

  std::uint64_t Microjoules(SimTime time) const {
    const auto floor = static_cast<Wide>(power_.floor_milliwatts) * static_cast<Wide>(time.ps);
    auto sum = static_cast<std::uint64_t>(floor / kPerMicrojoule);
    for (const LoadHistory* history : histories_) sum += history->Before(time).microjoules;
    return sum;
  }

  // Mean over the window before `time`, as far as it lies behind the job's start.
  std::uint32_t Milliwatts(SimTime time, Duration window) const {
    const SimTime from = std::max(SimTime{}, time - window);
    if (from >= time) return static_cast<std::uint32_t>(power_.floor_milliwatts);
    const auto drawn = static_cast<Wide>(Microjoules(time) - Microjoules(from));
    return static_cast<std::uint32_t>(drawn * kPerMicrojoule / static_cast<Wide>((time - from).ps));
  }

  // Share of the window, in 1/1000. Processes that run at once are more than one can show.
  std::uint32_t Permille(SimTime time, std::int64_t LoadHistory::Sum::*of) const {
    const SimTime from = std::max(SimTime{}, time - kUtilizationWindow);
    if (from >= time) return 0;
    std::int64_t sum = 0;
    for (const LoadHistory* history : histories_) {
      sum += history->Before(time).*of - history->Before(from).*of;
    }
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(sum, 0, (time - from).ps) * 1000 /
                                      (time - from).ps);
  }

  std::uint64_t SlowedPs(SimTime time) const {
    std::int64_t sum = 0;
    for (const LoadHistory* history : histories_) sum += history->Before(time).slowed_ps;
    return static_cast<std::uint64_t>(sum);
  }

  std::uint32_t ClockShare(SimTime time) const {
    std::int64_t least = 1024;
    for (const LoadHistory* history : histories_) least = std::min(least, history->ClockAt(time));
    return static_cast<std::uint32_t>(least);
  }

 private:
  static constexpr Wide kPerMicrojoule = 1'000'000'000;  // Milliwatts x picoseconds.

  device::PowerTraits power_;
  std::vector<const LoadHistory*> histories_;
};

}  // namespace

SimTime LatestClock(const Processes& processes) {
  SimTime latest;
  for (const auto& [number, session] : processes.all()) {
    if (session->is_driving()) latest = std::max(latest, session->known_clock());
  }
  return latest;
}

bool PowerIsKnown(const JobParts& job, std::uint16_t device) {
  return job.traits[device].power.room_milliwatts > 0 && !job.has_fixed_durations;
}

::eidolon::ring::DeviceSensors ReadSensors(const JobParts& job, const Processes& processes,
                                           std::uint16_t device, SimTime time) {
  const device::PowerTraits& power = job.traits[device].power;
  const Readings readings(power, processes, device);
  ::eidolon::ring::DeviceSensors sensors{
      .time_ps = static_cast<std::uint64_t>(time.ps),
      .slowed_ps = readings.SlowedPs(time),
      .clock_share = readings.ClockShare(time),
      .busy_permille = readings.Permille(time, &LoadHistory::Sum::busy_ps),
      .memory_permille = readings.Permille(time, &LoadHistory::Sum::memory_ps),
      .default_milliwatts = job.default_milliwatts};
  if (!PowerIsKnown(job, device)) return sensors;
  sensors.power_known = 1;
  sensors.energy_microjoules = readings.Microjoules(time);
  sensors.mean_milliwatts = readings.Milliwatts(time, kMeanPowerWindow);
  sensors.instant_milliwatts = readings.Milliwatts(time, kInstantPowerWindow);
  return sensors;
}

}  // namespace eidolon::agent::server
