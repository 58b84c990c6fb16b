// The controller of embedded mode: takes jobs in, starts them in order, follows their agents, keeps
// and shows what came out.
//
// Threads: HTTP and gRPC threads and the placement's call in, through api() and agents(); all state
// is under one lock (ControllerState). One control thread takes decisions and does everything that
// may block (starting agents, calls to other services), without the lock. The store has a thread as
// well, which takes the lock when something was stored; nobody waits for the disk with the lock
// held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/controller/embedded/agent_sessions.h"
#include "services/controller/embedded/controller_parts.h"
#include "services/controller/embedded/controller_state.h"
#include "services/controller/embedded/embedded_api.h"
#include "services/controller/embedded/job_ender.h"
#include "services/controller/embedded/job_starter.h"
#include "services/controller/embedded/retention.h"
#include "services/controller/embedded/sweep_driver.h"

namespace eidolon::controller::embedded {

class Controller {
 public:
  // Reads the stored jobs; those that ran become Interrupted, those that wait are queued again.
  static base::Result<std::unique_ptr<Controller>> Open(ControllerOptions options,
                                                        ControllerParts parts,
                                                        store::DataDirectory directory,
                                                        store::JobStore store);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Starts running jobs. `address`: where agents find the gRPC service.
  void Start(const std::string& address);
  // Interrupts what runs, waits until its agents are gone and what came of them is stored, the
  // latter for a bounded time: the error tells what is lost. Nothing is started any more, watchers
  // are sent away. Call before the gRPC server ends. A second call does nothing.
  base::Result<void> Stop();

  rest::Api& api() { return api_; }
  agents::AgentHandler& agents() { return agents_; }

 private:
  using Actions = std::vector<ControllerState::Action>;  // Done without the lock.

  Controller(ControllerOptions options, ControllerParts parts, store::DataDirectory directory);

  void Loop();
  // Decides with the lock held; fills in what to do without it. False: everything is over.
  bool Decide(Actions* actions);
  void StartNext(Actions* actions);
  void StepJob(JobEntry* entry, std::int64_t now_ns, Actions* actions);
  void LookAtGuardians(JobEntry* entry, std::int64_t now_ns);
  void GiveOrder(JobEntry* entry, job::Order order, Actions* actions);
  void Finish(JobEntry* entry, Actions* actions);
  void RemoveExpired(std::int64_t now_ns);
  // Removes, without the lock, folders and processes of controllers that were killed.
  void RemoveLeftBehind() const;
  // Tells metrics, and jobs that wait for it, how the store is.
  void WatchStore(std::int64_t now_ns);
  bool HasUnfinished(std::int64_t now_ns);

  const ControllerOptions options_;
  ControllerState state_;
  AgentSessions agents_{&state_};
  EmbeddedApi api_{&state_};
  JobEnder ender_{&state_};
  JobStarter starter_{options_, &state_, &agents_, &ender_};
  SweepDriver sweeps_{&state_, &api_};
  Retention retention_{options_.retention, &state_};
  std::thread thread_;
  // Used by the control thread.
  std::int64_t expiry_checked_ns_ = 0;
  std::int64_t left_behind_checked_ns_ = 0;
  std::int64_t quota_checked_ns_ = 0;
};

}  // namespace eidolon::controller::embedded
