// The functions that answer libnccl.so.2's calls, named in nccl.policy: includes the topic headers.
#pragma once

#include "shim/nccl/collective.h"
#include "shim/nccl/communicator.h"
#include "shim/nccl/group.h"
#include "shim/nccl/membership.h"
#include "shim/nccl/registration.h"
