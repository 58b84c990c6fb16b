// What `helm test` asks of an installation: is a controller ready, and does REST answer someone who
// may ask.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::controller::kube_host {

struct ProbeOptions {
  std::string url;         // Of REST: "http://eidolon-controller:8080".
  std::string token_file;  // For audience rest.eidolon.dev.
  std::string name_space;  // Whose jobs the token's owner may list.
};

// GET /readyz, and a list of at most one job; says what was answered instead of what is right.
base::Result<void> Probe(const ProbeOptions& options);

}  // namespace eidolon::controller::kube_host
