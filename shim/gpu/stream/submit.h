// Putting work on a stream: the meeting point of the runtime, the driver and the math libraries.
//
// When the stream is capturing, work becomes a graph node instead of a record; callers need not
// know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/contract/ring/record.h"
#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"

namespace eidolon::shim::gpu {

// Launches a work definition (workload/work.h) on the stream. The device is the stream's.
Status Submit(StreamHandle stream, std::span<const std::byte> definition) noexcept;

// Issues collectives or a group of sends and receives on one communicator. The record's header,
// op_count, payload_bytes and template_id are filled in here.
Status SubmitCommunication(StreamHandle stream, std::uint32_t communicator, std::uint32_t group,
                           std::span<const ring::CommunicationOp> ops,
                           std::span<const std::byte> payload) noexcept;

}  // namespace eidolon::shim::gpu
