// The boundary between what agents report (proto/eidolon/controller/v1) and the domain's own types.
#pragma once

#include "eidolon/controller/v1/controller.pb.h"
#include "services/controller/job/measurement.h"
#include "services/controller/job/run.h"
#include "services/controller/outputs/part.h"

namespace eidolon::controller::agents {

job::RankIteration FromProto(const v1::Iteration& in);
job::ServerUsage FromProto(const v1::Usage& in);
job::AgentProgress FromProto(const v1::Progress& in);
outputs::Part FromProto(const v1::OutputPart& in);
job::AgentOutcome FromProto(const v1::Outcome& in);

}  // namespace eidolon::controller::agents
