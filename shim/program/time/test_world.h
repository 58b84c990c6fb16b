// Shares what the time tests need: reading clocks past the shim, and a job for the process under
// test.
#pragma once

#include <gtest/gtest.h>
#include <time.h>

#include <cstdint>

#include "services/contract/ring/record.h"
#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {

// Reads the clock as the program does: through the exported clock_gettime.
inline std::int64_t ReadNs(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return ToNs(now);
}

// Seconds of real time in which something ends that does not wait for virtual time: the shortest
// virtual wait that must not be real lasts a minute, and a loaded machine is slow.
inline constexpr double kSoon = 50;

// Makes the process a rank that has started up, and the calling thread its driver. Its clock goes
// on from where the process was.
inline void StartRank(core::FakeAgent& agent) {
  agent.Reset();
  core::Session* session = core::Session::Get();
  EXPECT_NE(session, nullptr);
  ring::EventRecord work{};
  work.header.kind = ring::RecordKind::kEventRecord;
  core::Append(*session, work);
  ReadNs(CLOCK_MONOTONIC);
}

// Measures real time around a piece of a test.
class RealTimer {
 public:
  double Seconds() const { return static_cast<double>(core::MonotonicNs() - start_) * 1e-9; }

 private:
  std::int64_t start_ = core::MonotonicNs();
};

}  // namespace eidolon::shim::time
