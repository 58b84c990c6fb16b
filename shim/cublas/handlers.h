// The functions that answer libcublas.so.13's calls, named in cublas.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cublas {}
