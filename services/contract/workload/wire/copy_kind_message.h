// Kinds of copies on the wire: the one translation between workload::CopyKind and CopyKind of
// proto/eidolon/timing/v1.
#pragma once

#include "eidolon/timing/v1/timing.pb.h"
#include "services/contract/workload/copy_kind.h"

namespace eidolon::workload::wire {

// kUnspecified also for a kind that a later version of the sender has.
CopyKind FromMessage(timing::v1::CopyKind kind);

timing::v1::CopyKind ToMessage(CopyKind kind);

}  // namespace eidolon::workload::wire
