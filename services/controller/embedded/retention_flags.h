// The flags of servers that say how much of what is over they keep.
#pragma once

#include "services/controller/embedded/controller_parts.h"

namespace CLI {
class App;
}

namespace eidolon::controller::embedded {

// Also sets the defaults of a server. `options` must outlive the parsing.
void AddRetentionFlags(CLI::App* app, RetentionOptions* options);

}  // namespace eidolon::controller::embedded
