// A rank of a test: connects to an agent as the shim does and writes records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/agent/ring/fake_writer.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::server {

// One connection and its segment. Asking blocks the calling thread, as in the shim.
class FakeRank {
 public:
  struct Identity {
    int rank = 0;
    int world_size = 1;
    int pid = 0;  // 0: this process.
  };
  // Requires: an agent listens in the run directory.
  FakeRank(const std::string& run_directory, const Identity& identity);
  ~FakeRank();
  FakeRank(const FakeRank&) = delete;
  FakeRank& operator=(const FakeRank&) = delete;

  bool accepted() const { return segment_ != nullptr; }
  const std::string& refusal() const { return refusal_; }
  ring::FakeWriter& writer() { return *writer_; }
  void* segment() { return segment_; }

  // Returns the clock that processes without a GPU read.
  std::uint64_t job_clock() const { return page_->job_clock_ps.load(); }
  // Does what the shim does at the end of a process; done by the destructor too.
  void SayFarewell(::eidolon::ring::Farewell farewell);
  // Cuts the connection without a word.
  void Vanish();

  // Advances the clock by host work.
  void Work(std::uint64_t ps);
  std::uint64_t clock() const { return clock_ps_; }

  struct Answer {
    ::eidolon::ring::ReplyStatus status;
    std::uint64_t value_ps;
    std::uint64_t extra;
    std::string payload;
  };
  // Asks and waits; a completion time moves the clock.
  Answer Ask(::eidolon::ring::RecordKind kind, std::uint64_t id, std::uint64_t id2 = 0);
  Answer Join(std::uint32_t communicator, const std::string& name, int size, int rank);
  void AllReduce(std::uint32_t stream, std::uint32_t communicator, std::uint64_t sequence,
                 const std::string& payload = {});

 private:
  Answer Wait();

  int socket_ = -1;
  void* segment_ = nullptr;
  const ::eidolon::ring::ServerPage* page_ = nullptr;
  ::eidolon::ring::Doorbell* doorbell_ = nullptr;
  std::string refusal_;
  std::unique_ptr<ring::FakeWriter> writer_;
  std::uint64_t clock_ps_ = 0;
};

}  // namespace eidolon::agent::server
