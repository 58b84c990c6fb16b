// Work definitions (services/contract/workload/work.h) by the names that shim and agent use.
#pragma once

#include "services/contract/workload/dnn_nodes.h"
#include "services/contract/workload/work.h"

namespace eidolon::ring {

using workload::DataType;
using workload::Dim3;
using workload::DnnOperation;
using workload::DnnTensor;
using workload::kMaxDnnDims;
using workload::kPlainDnnEngine;
using workload::ParameterSlot;
using workload::WorkHeader;
using workload::WorkKind;
using CopyWork = workload::Copy;
using DnnAttribute = workload::DnnAttributeHead;
using DnnGraphWork = workload::DnnGraph;
using DnnNode = workload::DnnNodeHead;
using GemmWork = workload::Gemm;
using KernelWork = workload::Kernel;
using LibraryWork = workload::Library;

}  // namespace eidolon::ring
