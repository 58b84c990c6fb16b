// The functions that answer libnccl.so.2's calls, named in nccl.policy: includes the topic headers.
#pragma once

#include "shim/vendor/nccl/collective.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group.h"
#include "shim/vendor/nccl/membership.h"
#include "shim/vendor/nccl/registration.h"
