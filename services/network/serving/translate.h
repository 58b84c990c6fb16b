// Translates between the messages of network.proto and the domain's types. Messages come from other
// processes: what makes no sense is refused with a sentence that names the field.
#pragma once

#include <cstdint>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/base/error.h"
#include "services/network/communicator/job.h"
#include "services/network/communicator/notice.h"
#include "services/network/horizon/horizon.h"
#include "services/network/simulation/simulation.h"
#include "services/network/topology/cluster.h"

namespace eidolon::network::serving {

topology::Cluster FromProto(const eidolon::common::v1::Cluster& cluster);
// The same with what happens to the fabric.
topology::Cluster FromProto(const v1::RegisterJobRequest& request);
base::Result<communicator::Operation> FromProto(const v1::Operation& operation);
// A join's unique id and size stay in the message.
base::Result<communicator::Arrival> FromProto(const v1::Join& join);
base::Result<communicator::Arrival> FromProto(const v1::Split& split);
// Takes the payload out of the message.
base::Result<communicator::IssueCall> FromProto(v1::Issue& issue);
base::Result<communicator::PostCall> FromProto(const v1::Post& post);
horizon::Promise FromProto(const v1::Horizon& horizon);

// Whether an agent is told what the time of its transfers went to: who shows no timeline has no use
// for it.
enum class Spending : std::uint8_t { kLeftOut, kTold };
// Writes into an empty response.
void ToProto(const communicator::Notice& notice, Spending spending, v1::SessionResponse& response);
v1::EstimateCollectiveResponse ToProto(const collective::Cost& cost);
v1::ReadLinkLoadsResponse ToProto(const simulation::LinkLoads& loads);
// Times beyond the range mean never.
base::SimTime Time(std::uint64_t picoseconds);

}  // namespace eidolon::network::serving
