// The boundary between our errors and gRPC's: every service converts here and nowhere else.
#pragma once

#include <grpcpp/support/status.h>

#include "services/base/error.h"

namespace eidolon::runtime {

// The gRPC status that carries `error` to a peer.
grpc::Status ToStatus(const base::Error& error);

// The error of a call that failed. Requires: !status.ok().
base::Error FromStatus(const grpc::Status& status);

}  // namespace eidolon::runtime
