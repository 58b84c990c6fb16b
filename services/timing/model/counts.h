// Purpose of a work item, as far as its sizes show: sums for reports, which go into no time.
#pragma once

#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/work_counts.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::model {

// Zeros where nothing is counted. Matrix operations are those of GEMMs (2 m n k), convolutions
// (2 x elements of the response x window x channels of a group) and attention: two GEMMs of queries
// x keys x head size forward, five backward (FlashAttention-2, section 3.1), less what a causal
// mask leaves out. GEMMs that a Triton kernel or a library call without sizes makes are not seen.
kernel::WorkCounts CountsOf(const kernel::WorkItem& item, kernel::KernelNames* names);

// Each operand counts once.
double OperandBytes(const kernel::Gemm& gemm);

}  // namespace eidolon::timing::model
