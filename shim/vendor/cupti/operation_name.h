// Names an operation of the device in activity records. A kernel has the name of its module; GEMMs
// and graphs of cuDNN have the name of the report, because no kernel is chosen for them; NCCL's
// kernels are called as NCCL does, without algorithm and protocol, which the network service
// chooses. Names live as long as the process.
#pragma once

#include <cstddef>
#include <span>

#include "services/contract/ring/communication_record.h"

namespace eidolon::shim::cupti {

// Requires: definition holds a Work.
template <typename Work>
const Work& As(std::span<const std::byte> definition) {
  return *reinterpret_cast<const Work*>(definition.data());
}

// Requires: definition is a whole WorkHeader with its tail (workload/work.h), of no copy or memset,
// and lives as long as the process.
const char* NameWork(std::span<const std::byte> definition);
const char* NameCollective(const ring::CommunicationOp& op);
// A collective that was captured before anybody watched.
const char* NameOfCaptured();

}  // namespace eidolon::shim::cupti
