// Keeps the waiters for a moment of virtual time that promise nothing
// (services/contract/ring/virtual_sleep.h): sleeping children of ranks, timers, timed waits. The
// table knows which moment comes next, and whose has passed. Kept by the agent's main loop; not
// thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/ring/virtual_sleep.h"

namespace eidolon::agent::server {

class SleepTable {
 public:
  // A virtual sleep begins at `latest`, the latest clock of a rank of this server, unless it names
  // its moment. False, and nothing is kept, when its end lies beyond the end of time.
  bool Begin(int connection, const ::eidolon::ring::VirtualSleep& virtual_sleep,
             base::SimTime latest, std::int64_t now_ns);
  // True when there was one.
  bool End(int connection);

  // The earliest moment, if any. It may pass only once it is patient no longer.
  std::optional<base::SimTime> Next() const;
  // The earliest moment is still given real time, and lies before `other`.
  bool HoldsBack(std::optional<base::SimTime> other, std::int64_t now_ns) const;
  // Something has happened in the job: patience begins anew.
  void NoteActivity(std::int64_t now_ns);
  // The clock of a rank of this server has reached `latest`: takes out those that named a length
  // and have passed. Who named a moment has a clock of its own.
  std::vector<int> TakeReached(base::SimTime latest);
  // Nobody will do anything before `time`: takes out whose moment that is, or was earlier.
  std::vector<int> TakeSafe(base::SimTime time);

 private:
  struct Entry {
    base::SimTime moment;
    std::int64_t patience_ns = 0;
    std::int64_t patient_until_ns = 0;
    bool has_clock = false;
  };
  std::vector<int> Take(base::SimTime time, bool also_with_clock);

  std::map<int, Entry> virtual_sleeps_;  // By connection.
};

}  // namespace eidolon::agent::server
