// The functions that answer libnccl.so.2's calls, named in nccl.policy: includes the topic headers.
#pragma once

namespace eidolon::shim::nccl {}
