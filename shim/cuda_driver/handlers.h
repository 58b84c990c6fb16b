// The functions that answer libcuda.so.1's calls, named in cuda_driver.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cuda_driver {}
