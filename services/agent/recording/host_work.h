// Measures how long a recorded rank's host has worked: the sum of what lies between its records,
// and between an answer and the record that follows it.
#pragma once

#include <cstdint>

#include "services/base/error.h"
#include "services/contract/recording/entry_reader.h"

namespace eidolon::agent::recording {

// Picoseconds, of the entries behind the first `skipped`. The error says where the recording is
// damaged.
base::Result<std::uint64_t> HostWorkOf(::eidolon::recording::EntryReader entries,
                                       std::uint64_t skipped);

}  // namespace eidolon::agent::recording
