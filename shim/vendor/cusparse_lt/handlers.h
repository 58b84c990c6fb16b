// The functions that answer libcusparseLt.so.0's calls, named in cusparse_lt.policy: includes the
// topic headers.
#pragma once

namespace eidolon::shim::cusparse_lt {}
