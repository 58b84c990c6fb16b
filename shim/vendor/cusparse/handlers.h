// The functions that answer libcusparse.so.12's calls, named in cusparse.policy: includes the topic
// headers.
#pragma once

#include "shim/vendor/cusparse/handle.h"
