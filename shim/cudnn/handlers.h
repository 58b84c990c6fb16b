// The functions that answer libcudnn.so.9's calls, named in cudnn.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cudnn {}
