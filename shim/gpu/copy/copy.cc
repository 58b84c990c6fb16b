// A copy is two things here: work for the engine, which takes time and no bytes, and a move of the
// bytes that are known, which takes no time. The direction that the program names is only checked,
// for the addresses decide, as with unified addressing. Bytes move in the order of the calls,
// through the queue of values; a wait comes before the move where CUDA's call waits (MustWait). In
// a capture nothing moves: the node keeps the move and each replay repeats it. A strided copy is
// moved row by row, but is one work, whose description has the length of a row.
#include "shim/gpu/copy/copy.h"

#include <cstring>
#include <optional>
#include <span>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/work.h"
#include "shim/gpu/allocation/pointer.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/copy/reach.h"
#include "shim/gpu/report/unknown_read.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

// Up to this size a pageable source is staged at once and the call returns.
constexpr std::size_t kStagedBytes = 64 << 10;

// One end of a copy.
struct End {
  PointerInfo info;
  bool on_device = false;  // Emulated memory without bytes of its own.
  bool on_gpu = false;     // For the cost: device or managed memory.
  bool pageable = false;
};

// Nothing when the bytes that the rows take up are not all there.
std::optional<End> Look(const void* pointer, const Rows& rows) {
  const auto span = SpanOf(rows);
  if (!span.has_value()) return std::nullopt;
  End end;
  end.info = Inspect(pointer);
  if (!HoldsBytes(end.info, pointer, *span)) return std::nullopt;
  end.on_device = end.info.kind == PointerKind::kDevice;
  end.on_gpu = end.on_device || end.info.kind == PointerKind::kManaged;
  end.pageable = end.info.kind == PointerKind::kUnregistered;
  return end;
}

Rows TargetRows(const CopyShape& shape) {
  return {shape.row_bytes, shape.rows, shape.slices, shape.target_pitch, shape.target_slice_pitch};
}

Rows SourceRows(const CopyShape& shape) {
  return {shape.row_bytes, shape.rows, shape.slices, shape.source_pitch, shape.source_slice_pitch};
}

std::uint64_t Address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Calls move(target offset, source offset, bytes) for each contiguous piece.
template <typename Move>
void ForEachPiece(const CopyShape& shape, Move&& move) {
  const bool flat = shape.rows == 1 || (shape.target_pitch == shape.row_bytes &&
                                        shape.source_pitch == shape.row_bytes);
  for (std::size_t slice = 0; slice < shape.slices; ++slice) {
    const std::size_t target = slice * shape.target_slice_pitch;
    const std::size_t source = slice * shape.source_slice_pitch;
    if (flat) {
      move(target, source, shape.row_bytes * shape.rows);
      continue;
    }
    for (std::size_t row = 0; row < shape.rows; ++row) {
      move(target + row * shape.target_pitch, source + row * shape.source_pitch, shape.row_bytes);
    }
  }
}

void MoveBytes(const CopyRequest& request, const End& target, const End& source,
               value::StreamName stream = {}) {
  value::Pending& values = value::ProcessPending();
  auto* to = static_cast<char*>(request.target);
  const auto* from = static_cast<const char*>(request.source);
  const unsigned char unknown = UnknownByte();
  ForEachPiece(request.shape, [&](std::size_t to_at, std::size_t from_at, std::size_t bytes) {
    if (target.on_device && source.on_device) {
      values.Copy(Address(to + to_at), Address(from + from_at), bytes);
    } else if (target.on_device) {
      values.Write(Address(to + to_at), from + from_at, bytes);
    } else if (source.on_device) {
      values.Read(Address(from + from_at), to + to_at, bytes, unknown, NoteHostRead, stream);
    } else {
      std::memmove(to + to_at, from + from_at, bytes);
    }
  });
  FlushUnknownReads();
}

void SetBytes(const FillRequest& request, const End& target) {
  const CopyShape shape{.row_bytes = request.elements * request.element_bytes,
                        .rows = request.rows,
                        .slices = request.slices,
                        .target_pitch = request.pitch,
                        .target_slice_pitch = request.slice_pitch,
                        .source_pitch = request.pitch};
  auto* to = static_cast<char*>(request.target);
  ForEachPiece(shape, [&](std::size_t at, std::size_t, std::size_t length) {
    if (target.on_device) {
      value::ProcessPending().Fill(Address(to + at), request.value, request.element_bytes, length);
      return;
    }
    for (std::size_t i = 0; i < length; i += request.element_bytes) {
      std::memcpy(to + at + i, &request.value, request.element_bytes);
    }
  });
}

workload::CopyKind KindOf(const End& target, const End& source) {
  if (target.on_gpu && source.on_gpu) {
    return target.info.device == source.info.device ? workload::CopyKind::kDeviceToDevice
                                                    : workload::CopyKind::kPeer;
  }
  if (target.on_gpu) return workload::CopyKind::kHostToDevice;
  return source.on_gpu ? workload::CopyKind::kDeviceToHost : workload::CopyKind::kHostToHost;
}

// Page-locked memory has one address for the host and the GPU, so it may stand for either: XLA
// reads what a kernel wrote into it by a copy from the device.
bool Contradicts(CopyDirection direction, const End& target, const End& source) {
  switch (direction) {
    case CopyDirection::kAny:
      return false;
    case CopyDirection::kHostToHost:
      return target.on_device || source.on_device;
    case CopyDirection::kHostToDevice:
      return target.pageable || source.on_device;
    case CopyDirection::kDeviceToHost:
      return target.on_device || source.pageable;
    case CopyDirection::kDeviceToDevice:
      return false;  // Host ends are taken as they are.
  }
  return false;
}

// A copy whose bytes are all there; of no bytes, it is nothing.
struct DefinedCopy {
  workload::Copy work{};
  End target;
  End source;
};

Status Define(const CopyRequest& request, DefinedCopy* copy) {
  const CopyShape& shape = request.shape;
  const auto bytes = BytesOf(TargetRows(shape));
  if (!bytes.has_value()) return Status::kInvalidValue;
  if (*bytes == 0) return Status::kSuccess;
  if (request.target == nullptr || request.source == nullptr) return Status::kInvalidValue;
  const auto target = Look(request.target, TargetRows(shape));
  const auto source = Look(request.source, SourceRows(shape));
  if (!target.has_value() || !source.has_value()) return Status::kInvalidValue;
  if (Contradicts(request.direction, *target, *source)) return Status::kInvalidValue;
  copy->target = *target;
  copy->source = *source;

  workload::Copy& work = copy->work;
  work.kind = KindOf(*target, *source);
  work.pinned = target->pageable || source->pageable ? 0 : 1;
  work.bytes = *bytes;
  const bool flat =
      shape.target_pitch == shape.source_pitch && shape.target_pitch == shape.row_bytes;
  work.row_bytes = flat || shape.rows * shape.slices == 1 ? *bytes : shape.row_bytes;
  work.peer_device = work.kind == workload::CopyKind::kPeer ? RingDevice(target->info.device) : -1;
  return Status::kSuccess;
}

bool MustWait(const CopyRequest& request, const DefinedCopy& copy) {
  switch (copy.work.kind) {
    case workload::CopyKind::kHostToHost:
      return true;
    case workload::CopyKind::kDeviceToHost:
      return request.mode == CopyMode::kBlocking || copy.target.pageable;
    case workload::CopyKind::kHostToDevice:
      return request.mode == CopyMode::kBlocking ||
             (copy.source.pageable && copy.work.bytes > kStagedBytes);
    default:
      return false;
  }
}

// A memset whose bytes are all there; of no bytes, it is nothing.
struct DefinedFill {
  workload::Copy work{};
  End target;
};

Status Define(const FillRequest& request, DefinedFill* fill) {
  std::size_t row_bytes = 0;
  if (__builtin_mul_overflow(request.elements, request.element_bytes, &row_bytes)) {
    return Status::kInvalidValue;
  }
  const Rows rows{row_bytes, request.rows, request.slices, request.pitch, request.slice_pitch};
  const auto bytes = BytesOf(rows);
  if (!bytes.has_value()) return Status::kInvalidValue;
  if (*bytes == 0) return Status::kSuccess;
  const bool aligned = Address(request.target) % request.element_bytes == 0 &&
                       (request.rows == 1 || request.pitch % request.element_bytes == 0);
  if (!aligned) return Status::kInvalidValue;
  const auto target = Look(request.target, rows);
  if (!target.has_value() || target->pageable) return Status::kInvalidValue;
  fill->target = *target;

  workload::Copy& work = fill->work;
  work.header = {workload::WorkKind::kMemset, sizeof(work)};
  work.kind = workload::CopyKind::kMemset;
  work.pinned = 1;
  work.bytes = *bytes;
  const bool flat = request.rows * request.slices == 1 || request.pitch == row_bytes;
  work.row_bytes = flat ? *bytes : row_bytes;
  work.peer_device = -1;
  work.element_bytes = request.element_bytes;
  return Status::kSuccess;
}

}  // namespace

Status Copy(const CopyRequest& request, StreamHandle stream) noexcept {
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  DefinedCopy copy;
  if (const Status status = Define(request, &copy); status != Status::kSuccess) return status;
  if (copy.work.bytes == 0) return Status::kSuccess;
  const Status status = Submit(stream, std::as_bytes(std::span(&copy.work, 1)));
  if (status != Status::kSuccess) return status;
  if (IsCapturing(stream)) {
    CaptureReplay(*Lookup(stream), [request, to = copy.target, from = copy.source] {
      MoveBytes(request, to, from);
    });
    return status;
  }
  const bool waits = MustWait(request, copy);
  if (waits) {
    if (const Status waited = SynchronizeStream(stream); waited != Status::kSuccess) return waited;
  }
  const value::StreamName name = Lookup(stream)->name();
  MoveBytes(request, copy.target, copy.source, name);
  if (waits) value::ProcessPending().Finish({.stream = name});
  return Status::kSuccess;
}

Status Plan(const CopyRequest& request, PlannedWork* result) noexcept {
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  DefinedCopy copy;
  if (const Status status = Define(request, &copy); status != Status::kSuccess) return status;
  try {
    *result = {copy.work,
               [request, to = copy.target, from = copy.source] { MoveBytes(request, to, from); }};
  } catch (...) {
    return Status::kOutOfMemory;
  }
  return Status::kSuccess;
}

Status Prefetch(const void* pointer, std::size_t bytes, int device, StreamHandle stream) noexcept {
  const PointerInfo info = Inspect(pointer);
  if (info.kind != PointerKind::kManaged || bytes == 0) return Status::kInvalidValue;
  if (bytes > info.begin + info.bytes - Address(pointer)) return Status::kInvalidValue;
  if (device >= DeviceCount()) return Status::kInvalidDevice;
  workload::Copy work{};
  work.kind = device < 0 ? workload::CopyKind::kDeviceToHost : workload::CopyKind::kHostToDevice;
  work.pinned = 1;
  work.bytes = bytes;
  work.row_bytes = bytes;
  work.peer_device = -1;
  return Submit(stream, std::as_bytes(std::span(&work, 1)));
}

Status Copy(void* target, const void* source, std::size_t bytes, CopyMode mode,
            StreamHandle stream) noexcept {
  return Copy({.target = target, .source = source, .shape = {.row_bytes = bytes}, .mode = mode},
              stream);
}

Status Fill(const FillRequest& request, StreamHandle stream) noexcept {
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  DefinedFill fill;
  if (const Status status = Define(request, &fill); status != Status::kSuccess) return status;
  if (fill.work.bytes == 0) return Status::kSuccess;
  const Status status = Submit(stream, std::as_bytes(std::span(&fill.work, 1)));
  if (status != Status::kSuccess) return status;
  if (IsCapturing(stream)) {
    CaptureReplay(*Lookup(stream), [request, to = fill.target] { SetBytes(request, to); });
  } else {
    SetBytes(request, fill.target);
  }
  return status;
}

Status Plan(const FillRequest& request, PlannedWork* result) noexcept {
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  DefinedFill fill;
  if (const Status status = Define(request, &fill); status != Status::kSuccess) return status;
  try {
    *result = {fill.work, [request, to = fill.target] { SetBytes(request, to); }};
  } catch (...) {
    return Status::kOutOfMemory;
  }
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
