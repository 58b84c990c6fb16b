// Page that all processes of an emulated server map: it holds the job clock, which only the agent
// writes, and the doorbell on which the agent's main loop sleeps.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/error.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// Owns the memory files, their mappings, and the links <run directory>/server.page and
// <run directory>/channels (services/contract/channel) by which processes find them. Movable. Ring
// may be called by any thread; the rest by the main loop only.
class ServerPage {
 public:
  static base::Result<ServerPage> Create(const std::string& run_directory,
                                         wire::HostModel host_model, std::int64_t epoch_unix_ns);
  ServerPage(ServerPage&& other) noexcept;
  ServerPage& operator=(ServerPage&& other) noexcept;
  ~ServerPage();

  // Requires: no process of the server was started yet.
  void TellDeviceCount(std::uint32_t count);
  // Grows only.
  void RaiseJobClock(std::uint64_t clock_ps);
  std::uint64_t job_clock_ps() const;

  // The doorbell's memory file, to hand over.
  int doorbell_descriptor() const { return doorbell_file_; }
  // The doorbell's count; take it before looking for work.
  std::uint32_t doorbell() const;
  // Sleeps until the doorbell differs from `seen`, at most timeout_ns.
  void Sleep(std::uint32_t seen, std::int64_t timeout_ns);
  // Rings, as a shim does.
  void Ring();

 private:
  ServerPage() = default;
  int page_file_ = -1;
  int doorbell_file_ = -1;
  int channels_file_ = -1;
  wire::ServerPage* page_ = nullptr;
  wire::Doorbell* doorbell_ = nullptr;
};

}  // namespace eidolon::agent::ring
