// The fixed host model: what one API call of each class costs the host.
#pragma once

#include "services/ring/layout.h"

namespace eidolon::agent::clock {

// Costs of a current server CPU (3 to 4 GHz) running PyTorch in eager mode. In this model a call
// stands for itself and for the framework's work that leads to it, because nothing else moves the
// clock.
::eidolon::ring::HostCosts FixedHostCosts();

}  // namespace eidolon::agent::clock
