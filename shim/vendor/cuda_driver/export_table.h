// The tables that cuGetExportTable gives out: functions without names that NVIDIA's own libraries
// ask the driver for. NVIDIA does not document them. What stands here follows from what the stock
// libraries ask for and how they go on, and from ZLUDA (github.com/vosen/ZLUDA), which describes
// the tables publicly; shim/README.md lists them. An entry that nobody knows is refused by table
// and number.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::export_table {

// CUDA_ERROR_NOT_FOUND for tables that their askers do without, CUDA_ERROR_NOT_SUPPORTED (counted,
// and named in the report) for unknown ones.
CUresult Get(const void** table, const CUuuid* id) noexcept;

}  // namespace eidolon::shim::cuda_driver::export_table
