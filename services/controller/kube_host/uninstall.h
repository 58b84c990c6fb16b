// What the chart's pre-delete hook runs, so that an uninstall leaves nothing at work: the
// controllers are stopped, jobs that are not over wait for the next installation, and pods and
// network services are removed.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/kube/client.h"

namespace eidolon::controller::kube_host {

struct UninstallOptions {
  std::string release_namespace;
  std::string deployment;             // Of the controllers, in the release's namespace.
  std::string controller_pods;        // Label selector of the controllers' pods there.
  std::string name_space;             // Whose jobs are cleaned up; empty: all.
  std::chrono::seconds patience{90};  // In which the controllers have to end.
};

struct Uninstalled {
  std::size_t jobs = 0;     // That wait now.
  std::size_t objects = 0;  // That were removed.
};

// Repeatable: what an earlier call did is found done. Objects that no simulation resource owns
// stay, whatever their labels; so do pods and Services of jobs that are over, whose logs may be
// read.
base::Result<Uninstalled> Uninstall(const UninstallOptions& options, kube::Client* client,
                                    const base::RealClock& clock);

}  // namespace eidolon::controller::kube_host
