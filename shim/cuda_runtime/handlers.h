// The functions that answer libcudart.so.13's calls, named in cuda_runtime.policy: includes the
// topic headers.
#pragma once

namespace eidolon::shim::cuda_runtime {}
