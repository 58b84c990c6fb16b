// Launches whose results wait until somebody reads them, because they can be computed at any time:
// those that read no memory, such as the ones that fill weights with random numbers.
//
// The first blocks are run in place of all, so that it is known that such a launch comes to an end
// and what it reads; that other blocks read nothing either, the code says.
#pragma once

#include <cstdint>
#include <string_view>

#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/run.h"
#include "shim/value/compute/experience.h"
#include "shim/value/compute/launch_pointers.h"
#include "shim/value/compute/learning.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// True when the results are in the store now, unread. Launches of so few threads that they are
// nearly as quick to run are not put off. `learning`: of the launch. `limits`: those under which it
// would be run. Whoever calls holds the lock of value::Pending.
bool PutOff(const Learning& learning, std::string_view name, const Arena& arena,
            const interpret::Limits& limits, KernelExperience& kernel, value::Store& store);

}  // namespace eidolon::shim::compute
