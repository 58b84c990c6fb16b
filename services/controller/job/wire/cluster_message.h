// The simulated cluster as the services' message.
#pragma once

#include <string>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/controller/job/cluster.h"

namespace eidolon::controller::job::wire {

// `name`: jobs with clusters of one name would share a fabric; each job has its own.
void FillCluster(const ClusterSpec& spec, const std::string& name, common::v1::Cluster* out);

// Fills in what only the network service needs to know: how the fabric is built, what happens to
// it, and what else uses it.
void FillFabric(const ClusterSpec& spec, network::v1::RegisterJobRequest* out);

}  // namespace eidolon::controller::job::wire
