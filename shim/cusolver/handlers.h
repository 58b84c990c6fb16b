// The functions that answer libcusolver.so.12's calls, named in cusolver.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cusolver {}
