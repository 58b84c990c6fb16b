// What one API call of each class costs the host: all of it in the fixed host model, in the
// measured one what the program does not do itself.
#pragma once

#include <cstdint>

#include "services/contract/ring/layout.h"

namespace eidolon::agent::clock {

// Costs of a current server CPU (3 to 4 GHz) running PyTorch in eager mode. In this model a call
// stands for itself and for the framework's work that leads to it, because nothing else moves the
// clock. `speed`: of the target's processor, relative to the reference of services/base/host_speed.
// Requires: speed > 0.
::eidolon::ring::HostCosts FixedHostCosts(double speed);

// Beside a GPU with fixed durations: calls that the fixed model charges cost `call_ps` each, and
// the framework's work `operator_ps`.
::eidolon::ring::HostCosts EvenHostCosts(std::uint64_t call_ps, std::uint64_t operator_ps);

// The same as FixedHostCosts with what the program's Python functions do. How many run may differ a
// little from run to run (hash collisions, what waits). `speed` as above.
::eidolon::ring::HostCosts CountedHostCosts(double speed);

// The measured host model's: what the real driver and the libraries take within a call. The
// program's own work between calls is measured. `speed` as above.
::eidolon::ring::HostCosts DriverHostCosts(double speed);

}  // namespace eidolon::agent::clock
