// Putting work on a stream: the meeting point of the runtime, the driver and the math libraries.
//
// A stream handle is what the program holds: cudaStream_t and CUstream are the same pointer; null
// and 1 are the legacy default stream, 2 the calling thread's default stream. When the stream is
// capturing, work becomes a graph node instead of a record; callers need not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/ring/record.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

using StreamHandle = void*;

// Launches a work definition (ring/work.h) on the stream. The device is the stream's.
Status Submit(StreamHandle stream, std::span<const std::byte> definition) noexcept;

// Issues collectives or a group of sends and receives on one communicator. The record's header,
// op_count, payload_bytes and template_id are filled in here.
Status SubmitCommunication(StreamHandle stream, std::uint32_t communicator, std::uint32_t group,
                           std::span<const ring::CommunicationOp> ops,
                           std::span<const std::byte> payload) noexcept;

// Device of a stream, and of the calling thread's current context.
int DeviceOf(StreamHandle stream) noexcept;
int CurrentDevice() noexcept;

// True while the stream is being captured: values are then not touched (replay does not recompute
// them).
bool IsCapturing(StreamHandle stream) noexcept;

}  // namespace eidolon::shim::gpu
