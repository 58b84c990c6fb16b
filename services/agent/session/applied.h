// What becomes of a record that is applied: it takes effect, it has to wait for a cost or an
// estimate that is not known yet, or it is damage (the error).
#pragma once

#include "services/base/error.h"

namespace eidolon::agent::session {

// A stalled record has had no effect and is applied again from its beginning.
enum class Applied { kYes, kStalled };
using ApplyResult = base::Result<Applied>;

}  // namespace eidolon::agent::session
