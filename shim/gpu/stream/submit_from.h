// Putting communication on a stream and saying where the program calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "services/contract/ring/record.h"
#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"

namespace eidolon::shim::gpu {

// Works as SubmitCommunication of submit.h. `site`: for people (ring/call_site.h); left out where
// the record would be too long, and of what a graph captures.
Status SubmitCommunicationFrom(std::string_view site, StreamHandle stream,
                               std::uint32_t communicator, std::uint32_t group,
                               std::span<const ring::CommunicationOp> ops,
                               std::span<const std::byte> payload) noexcept;

}  // namespace eidolon::shim::gpu
