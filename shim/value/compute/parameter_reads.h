// Determines which of its parameters the code of a kernel reads.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/target.h"
#include "services/machine_code/interpret/constant_reads.h"

namespace eidolon::shim::compute {

// Finds the reads of the kernel `name` in the image (fat binary or cubin) at `image`, which is
// readable, as the GPUs of this process, all of this capability, run it. Nothing when there is no
// machine code for them, or an instruction of it is not known. Thread safe; unpacks the image, so
// ask once a kernel.
std::optional<std::vector<interpret::ParameterRead>> FindParameterReads(
    const void* image, std::string_view name, cubin::Capability capability);

}  // namespace eidolon::shim::compute
