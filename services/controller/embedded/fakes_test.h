// Fakes of the controller's tests: simulators that know two GPUs, a placement that starts agents as
// threads, and those agents, which speak real gRPC.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "services/controller/place/placement.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::embedded {

// Thread safe.
class FakeSimulators final : public simulators::Simulators {
 public:
  base::Result<std::vector<std::string>> ListGpus() override;
  base::Result<double> FindPeakFlops(const std::string&) override { return 1e15; }
  base::Result<void> RegisterJob(const std::string& job, const job::ResolvedJob& resolved) override;
  void RemoveJob(const std::string& job) override;
  std::string timing_address() const override { return "timing:1"; }
  std::string network_address() const override { return "network:1"; }

  // From now on every call fails.
  void Break();
  std::set<std::string> jobs();

 private:
  std::mutex mutex_;  // Guards what follows.
  bool broken_ = false;
  std::set<std::string> jobs_;
};

// An agent in a thread: says hello, gets its assignment, then follows a script.
class FakeAgent {
 public:
  using Stream = grpc::ClientReaderWriter<v1::AgentReport, v1::ControllerCommand>;

  FakeAgent(Stream* stream, v1::Assignment assignment)
      : stream_(stream), assignment_(std::move(assignment)) {}

  const v1::Assignment& assignment() const { return assignment_; }
  std::uint32_t server() const { return assignment_.server(); }
  // One iteration of each rank of this server: `index` from index * 10 ms to the next.
  void Iterate(std::uint32_t index);
  void Print(const std::string& line);
  void UseMemory(std::uint64_t peak_bytes, std::uint64_t refused_bytes);
  void End(v1::OutcomeReason reason, const std::string& message = "");
  // Ends because ranks of one class differ by their positions in this dimension.
  void Differ(std::uint32_t stride, std::uint32_t size);
  // Waits for Stop and answers its reason; empty when the stream broke instead.
  std::string AwaitStop();

 private:
  void Send(const v1::AgentReport& report) { stream_->Write(report); }

  Stream* stream_;
  v1::Assignment assignment_;
};

// Actions of an agent after its assignment. Answers how its process ends.
using AgentScript = std::function<std::string(FakeAgent&)>;

// Thread safe.
class FakePlacement final : public place::Placement {
 public:
  ~FakePlacement() override;
  // Of all agents started from now on.
  void SetScript(AgentScript script);
  // The next Start fails so.
  void FailNextStart(const std::string& message);

  base::Result<void> Start(const place::PlacementRequest& request) override;
  void Terminate(std::int64_t job_uid) override;
  void Kill(std::int64_t job_uid) override;
  std::string DescribeStopped(std::int64_t, std::uint32_t) override { return ""; }
  std::size_t started();

 private:
  void RunAgent(const std::string& address, const place::AgentSlot& slot, const AgentScript& script,
                const std::function<void(std::uint32_t, const std::string&)>& on_exit);

  std::mutex mutex_;  // Guards what follows.
  AgentScript script_;
  std::string failure_;
  std::vector<std::thread> threads_;
  std::set<grpc::ClientContext*> contexts_;
};

// Iterates three times (one warm-up, two measured), waits for the order to stop, ends.
std::string IterateAndStop(FakeAgent& agent);

}  // namespace eidolon::controller::embedded
