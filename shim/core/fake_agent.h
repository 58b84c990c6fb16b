// An agent inside a test: makes a run directory, a server page, a socket and a segment, drains the
// ring and answers questions, so that handlers are tested without preloading and without services.
//
// One per process, as the session is. Use it through a global:
//
//   FakeAgent& agent = FakeAgent::Start();  // Before the first GPU call; later: the same agent.
//   agent.Reset();                          // Forgets records; default answers again.
//   ... calls ...
//   EXPECT_THAT(agent.Kinds(), ElementsAre(RecordKind::kLaunch));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"

namespace eidolon::shim::core {

class FakeAgent {
 public:
  // One record as it lay in the ring, padding included.
  struct Record {
    std::vector<std::byte> bytes;
    const ring::RecordHeader& header() const {
      return *reinterpret_cast<const ring::RecordHeader*>(bytes.data());
    }
    ring::RecordKind kind() const { return header().kind; }
    template <typename T>
    const T& As() const {
      return *reinterpret_cast<const T*>(bytes.data());
    }
  };
  struct Reply {
    ring::ReplyStatus status = ring::ReplyStatus::kOk;
    std::uint64_t value_ps = 0;
    std::uint64_t extra = 0;
    std::vector<std::byte> payload;
  };
  using AnswerFunction = std::function<Reply(const Record&)>;

  struct Options {
    int device_count = 2;  // H100-like; see DefaultDevice.
    bool refuse = false;   // Answers Hello with a refusal.
    std::uint64_t memory_bytes = std::uint64_t{80} << 30;
    ring::HostModel host_model = ring::HostModel::kFixed;
    std::uint64_t cost_ps = 1'000'000;  // Of every call class.
    std::uint64_t operator_ps = 0;
    std::uint64_t framework_ps = 0;
    std::uint64_t frame_ps = 0;
    double target_speed = 1;
    double speed_ratio = 1;  // Target host speed over this machine's.
    bool keep_records = true;
    bool strict = false;
    bool compute_values = false;  // Small kernels are run for their results.
    std::uint32_t compute_major = 9;
    std::uint32_t compute_minor = 0;
  };

  static FakeAgent& Start(const Options& options);
  static FakeAgent& Start() { return Start(Options{}); }

  // What answers questions instead of the default: synchronisations end at the asking clock,
  // queries are complete, elapsed times are a millisecond, communicators form at once. Called on
  // the agent's thread.
  void AnswerWith(AnswerFunction function);
  static Reply DefaultAnswer(const Record& record);
  // What is done with the slot of each answer before its thread may look, for tests of damage.
  void BeforeReady(std::function<void(std::uint32_t slot)> function);

  // Records so far, in order, after the ring was drained; pads are left out.
  std::vector<Record> Records();
  std::vector<Record> RecordsOf(ring::RecordKind kind);
  std::vector<ring::RecordKind> Kinds();
  // The bytes of a defined work.
  std::vector<std::byte> Work(std::uint32_t work);

  // Virtual sleeps (services/contract/ring/virtual_sleep.h) are kept waiting, until the test
  // releases them: then each ends at once, and the rank's floor is at its end.
  void LetVirtualSleepsPass(bool pass);
  // Numbers of virtual sleeps that have arrived so far, and that are waiting.
  int virtual_sleeps_seen() const;
  int virtual_sleeps_waiting() const;

  void Reset();
  // Stops reading, as a busy agent does, and goes on.
  void Pause();
  void Resume();
  // Closes the socket and answers nothing any more, as a killed agent.
  void Die();

  // What the session goes by; changes reach it at once.
  ring::SegmentHeader& header();
  void* segment();
  ring::Cursors& cursors();
  ring::ServerPage& page();
  const std::string& run_directory() const;

 private:
  explicit FakeAgent(const Options& options);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The device that FakeAgent shows: an H100 with 80 GB.
ring::DeviceProperties DefaultDevice(int index);

}  // namespace eidolon::shim::core
