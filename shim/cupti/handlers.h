// The functions that answer libcupti.so.13's calls, named in cupti.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cupti {}
