// The page that all processes of an emulated server map: job clock, and the doorbell on which the
// agent's main loop sleeps.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/error.h"
#include "services/ring/layout.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// Owns the mapping of <run directory>/server.page. Movable. Ring may be called by any thread; the
// rest by the main loop only.
class ServerPage {
 public:
  static base::Result<ServerPage> Create(const std::string& run_directory,
                                         wire::HostModel host_model, std::int64_t epoch_unix_ns);
  ServerPage(ServerPage&& other) noexcept;
  ServerPage& operator=(ServerPage&& other) noexcept;
  ~ServerPage();

  // Grows only.
  void RaiseJobClock(std::uint64_t clock_ps);
  std::uint64_t job_clock_ps() const;

  // The doorbell's count; take it before looking for work.
  std::uint32_t doorbell() const;
  // Sleeps until the doorbell differs from `seen`, at most timeout_ns.
  void Sleep(std::uint32_t seen, std::int64_t timeout_ns);
  // Rings, as a shim does.
  void Ring();

 private:
  ServerPage() = default;
  wire::ServerPage* page_ = nullptr;
};

}  // namespace eidolon::agent::ring
