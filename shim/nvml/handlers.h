// The functions that answer libnvidia-ml.so.1's calls, named in nvml.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::nvml {}
