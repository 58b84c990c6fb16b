// The functions that answer libcufile.so.0's calls, named in cufile.policy: includes the topic
// headers.
#pragma once

namespace eidolon::shim::cufile {}
