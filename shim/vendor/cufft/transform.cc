// cuFFT spells sizes in a dozen ways (one to three dimensions, arrays of int or long long, a type
// code or two element types). Every spelling becomes one Transform first, so that checks, workspace
// and time are written once; a new entry point only translates its arguments.
//
// A plan is copied out of the table before its work is submitted, as submitting may wait. Small
// transforms are computed after the work; for all others the whole extent that the call writes is
// forgotten, gaps of strided layouts included. A plan without a workspace of its own or of the
// program's runs nothing.
#include "shim/vendor/cufft/transform.h"

#include <array>
#include <span>
#include <vector>

#include "shim/gpu/stream/submit.h"
#include "shim/value/compute/launch.h"
#include "shim/vendor/cufft/plan.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cufft {
namespace {

// Lengths as the widest type; empty when they cannot be read.
template <typename Length>
std::vector<long long> Lengths(int rank, const Length* n) {
  if (rank < 1 || n == nullptr) return {};
  return {n, n + rank};
}

// The arguments of the calls for many transforms that say where points lie. When one of the arrays
// is null, the real library ignores the rest, and so do we.
template <typename Length>
struct Places {
  const Length* in_embed = nullptr;
  Length in_stride = 1, in_distance = 0;
  const Length* out_embed = nullptr;
  Length out_stride = 1, out_distance = 0;

  cufftResult ApplyTo(Transform* transform) const {
    if (in_embed == nullptr || out_embed == nullptr) return CUFFT_SUCCESS;
    const int rank = static_cast<int>(transform->lengths.size());
    return Embed({Lengths(rank, in_embed), in_stride, in_distance},
                 {Lengths(rank, out_embed), out_stride, out_distance}, transform);
  }
};

template <typename Length = int>
cufftResult Make(cufftHandle handle, std::span<const long long> lengths, long long batch,
                 cufftType type, std::size_t* work_bytes, const Places<Length>& places = {}) {
  Transform transform;
  cufftResult known = Describe(lengths, batch, type, &transform);
  if (known == CUFFT_SUCCESS) known = places.ApplyTo(&transform);
  return known != CUFFT_SUCCESS ? known : Plans::Get().Make(handle, transform, work_bytes);
}

cufftResult Estimate(std::span<const long long> lengths, long long batch, cufftType type,
                     std::size_t* work_bytes) {
  if (work_bytes == nullptr) return CUFFT_INVALID_VALUE;
  Transform transform;
  const cufftResult known = Describe(lengths, batch, type, &transform);
  if (known == CUFFT_SUCCESS) *work_bytes = transform.WorkBytes();
  return known;
}

cufftResult EstimateFor(cufftHandle handle, std::span<const long long> lengths, long long batch,
                        cufftType type, std::size_t* work_bytes) {
  Plan plan;
  const cufftResult known = Plans::Get().Find(handle, &plan);
  return known != CUFFT_SUCCESS ? known : Estimate(lengths, batch, type, work_bytes);
}

cufftResult CreateAndMake(cufftHandle* handle, std::span<const long long> lengths, long long batch,
                          cufftType type, const Places<int>& places = {}) {
  const cufftResult created = Plans::Get().Create(handle);
  if (created != CUFFT_SUCCESS) return created;
  std::size_t work_bytes = 0;
  const cufftResult made = Make(*handle, lengths, batch, type, &work_bytes, places);
  if (made != CUFFT_SUCCESS) Plans::Get().Destroy(*handle);
  return made;
}

struct Sides {
  cudaDataType input;
  cudaDataType output;
};

// Runs a plan whose types are `sides`, or any when null.
cufftResult Run(cufftHandle handle, const Sides* sides, const void* in, void* out,
                int direction = CUFFT_FORWARD) {
  Plan plan;
  const cufftResult known = Plans::Get().Find(handle, &plan);
  if (known != CUFFT_SUCCESS || !plan.made) return CUFFT_INVALID_PLAN;
  if (in == nullptr || out == nullptr) return CUFFT_INVALID_VALUE;
  const Transform& transform = plan.transform;
  if (sides != nullptr && (sides->input != transform.input || sides->output != transform.output)) {
    return CUFFT_INVALID_TYPE;
  }
  if (!plan.auto_allocate && plan.work_area == 0) return CUFFT_NO_WORKSPACE;
  std::array<std::int64_t, 3> lengths{};
  std::copy(transform.lengths.begin(), transform.lengths.end(), lengths.begin());
  const gpu::Status status =
      library::Submit(plan.stream, {.name = "cufft.transform",
                                    .type = static_cast<std::uint32_t>(transform.output),
                                    .flops = transform.Flops(),
                                    .memory_bytes = transform.MemoryBytes(),
                                    .numbers = {lengths[0], lengths[1], lengths[2], transform.batch,
                                                transform.input, transform.output}});
  if (status != gpu::Status::kSuccess) return CUFFT_EXEC_FAILED;
  const compute::Fourier fourier = FourierOf(transform, direction == CUFFT_INVERSE, in, out);
  if (compute::IsOn() && compute::IsSmall(fourier)) {
    library::AfterWork(plan.stream, [fourier] { compute::Record(fourier); });
  } else {
    const std::uint64_t elements = compute::WrittenElements(fourier);
    library::NoteWritten(plan.stream, out,
                         library::BytesOf(static_cast<std::uint32_t>(transform.output), elements));
  }
  return CUFFT_SUCCESS;
}

cufftResult Run(cufftHandle handle, Sides sides, const void* in, void* out,
                int direction = CUFFT_FORWARD) {
  return Run(handle, &sides, in, out, direction);
}

bool IsDirection(int direction) { return direction == CUFFT_FORWARD || direction == CUFFT_INVERSE; }

}  // namespace

namespace description {

cufftResult GetVersion(int* version) {
  if (version == nullptr) return CUFFT_INVALID_VALUE;
  *version = CUFFT_VERSION;
  return CUFFT_SUCCESS;
}

cufftResult GetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUFFT_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUFFT_VER_MAJOR;
      return CUFFT_SUCCESS;
    case MINOR_VERSION:
      *value = CUFFT_VER_MINOR;
      return CUFFT_SUCCESS;
    case PATCH_LEVEL:
      *value = CUFFT_VER_PATCH;
      return CUFFT_SUCCESS;
    default:
      return CUFFT_INVALID_TYPE;
  }
}

}  // namespace description

namespace planning {

cufftResult Create(cufftHandle* handle) { return Plans::Get().Create(handle); }
cufftResult Destroy(cufftHandle handle) { return Plans::Get().Destroy(handle); }
cufftResult SetStream(cufftHandle handle, cudaStream_t stream) {
  return Plans::Get().SetStream(handle, stream);
}
cufftResult SetAutoAllocation(cufftHandle handle, int on) {
  return Plans::Get().SetAutoAllocation(handle, on != 0);
}
cufftResult SetWorkArea(cufftHandle handle, void* area) {
  return Plans::Get().SetWorkArea(handle, area);
}
cufftResult GetSize(cufftHandle handle, std::size_t* work_bytes) {
  if (work_bytes == nullptr) return CUFFT_INVALID_VALUE;
  Plan plan;
  const cufftResult known = Plans::Get().Find(handle, &plan);
  if (known != CUFFT_SUCCESS) return known;
  *work_bytes = plan.made ? plan.transform.WorkBytes() : 0;
  return CUFFT_SUCCESS;
}

cufftResult Make1d(cufftHandle handle, int nx, cufftType type, int batch, std::size_t* work_bytes) {
  return Make(handle, std::array<long long, 1>{nx}, batch, type, work_bytes);
}
cufftResult Make2d(cufftHandle handle, int nx, int ny, cufftType type, std::size_t* work_bytes) {
  return Make(handle, std::array<long long, 2>{nx, ny}, 1, type, work_bytes);
}
cufftResult Make3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,
                   std::size_t* work_bytes) {
  return Make(handle, std::array<long long, 3>{nx, ny, nz}, 1, type, work_bytes);
}
cufftResult MakeMany(cufftHandle handle, int rank, int* n, int* in_embed, int in_stride,
                     int in_distance, int* out_embed, int out_stride, int out_distance,
                     cufftType type, int batch, std::size_t* work_bytes) {
  return Make<int>(handle, Lengths(rank, n), batch, type, work_bytes,
                   {in_embed, in_stride, in_distance, out_embed, out_stride, out_distance});
}
cufftResult MakeMany64(cufftHandle handle, int rank, long long* n, long long* in_embed,
                       long long in_stride, long long in_distance, long long* out_embed,
                       long long out_stride, long long out_distance, cufftType type,
                       long long batch, std::size_t* work_bytes) {
  return Make<long long>(handle, Lengths(rank, n), batch, type, work_bytes,
                         {in_embed, in_stride, in_distance, out_embed, out_stride, out_distance});
}
cufftResult XtMakeMany(cufftHandle handle, int rank, long long* n, long long* in_embed,
                       long long in_stride, long long in_distance, cudaDataType input,
                       long long* out_embed, long long out_stride, long long out_distance,
                       cudaDataType output, long long batch, std::size_t* work_bytes,
                       cudaDataType) {
  Transform transform;
  cufftResult known = Describe(Lengths(rank, n), batch, input, output, &transform);
  if (known == CUFFT_SUCCESS) {
    known = Places<long long>{in_embed, in_stride, in_distance, out_embed, out_stride, out_distance}
                .ApplyTo(&transform);
  }
  return known != CUFFT_SUCCESS ? known : Plans::Get().Make(handle, transform, work_bytes);
}

cufftResult Plan1d(cufftHandle* handle, int nx, cufftType type, int batch) {
  return CreateAndMake(handle, std::array<long long, 1>{nx}, batch, type);
}
cufftResult Plan2d(cufftHandle* handle, int nx, int ny, cufftType type) {
  return CreateAndMake(handle, std::array<long long, 2>{nx, ny}, 1, type);
}
cufftResult Plan3d(cufftHandle* handle, int nx, int ny, int nz, cufftType type) {
  return CreateAndMake(handle, std::array<long long, 3>{nx, ny, nz}, 1, type);
}
cufftResult PlanMany(cufftHandle* handle, int rank, int* n, int* in_embed, int in_stride,
                     int in_distance, int* out_embed, int out_stride, int out_distance,
                     cufftType type, int batch) {
  return CreateAndMake(handle, Lengths(rank, n), batch, type,
                       {in_embed, in_stride, in_distance, out_embed, out_stride, out_distance});
}

cufftResult Estimate1d(int nx, cufftType type, int batch, std::size_t* work_bytes) {
  return Estimate(std::array<long long, 1>{nx}, batch, type, work_bytes);
}
cufftResult Estimate2d(int nx, int ny, cufftType type, std::size_t* work_bytes) {
  return Estimate(std::array<long long, 2>{nx, ny}, 1, type, work_bytes);
}
cufftResult Estimate3d(int nx, int ny, int nz, cufftType type, std::size_t* work_bytes) {
  return Estimate(std::array<long long, 3>{nx, ny, nz}, 1, type, work_bytes);
}
cufftResult EstimateMany(int rank, int* n, int*, int, int, int*, int, int, cufftType type,
                         int batch, std::size_t* work_bytes) {
  return Estimate(Lengths(rank, n), batch, type, work_bytes);
}
cufftResult GetSize1d(cufftHandle handle, int nx, cufftType type, int batch,
                      std::size_t* work_bytes) {
  return EstimateFor(handle, std::array<long long, 1>{nx}, batch, type, work_bytes);
}
cufftResult GetSize2d(cufftHandle handle, int nx, int ny, cufftType type, std::size_t* work_bytes) {
  return EstimateFor(handle, std::array<long long, 2>{nx, ny}, 1, type, work_bytes);
}
cufftResult GetSize3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,
                      std::size_t* work_bytes) {
  return EstimateFor(handle, std::array<long long, 3>{nx, ny, nz}, 1, type, work_bytes);
}
cufftResult GetSizeMany(cufftHandle handle, int rank, int* n, int*, int, int, int*, int, int,
                        cufftType type, int batch, std::size_t* work_bytes) {
  return EstimateFor(handle, Lengths(rank, n), batch, type, work_bytes);
}
cufftResult GetSizeMany64(cufftHandle handle, int rank, long long* n, long long*, long long,
                          long long, long long*, long long, long long, cufftType type,
                          long long batch, std::size_t* work_bytes) {
  return EstimateFor(handle, Lengths(rank, n), batch, type, work_bytes);
}
cufftResult XtGetSizeMany(cufftHandle handle, int rank, long long* n, long long*, long long,
                          long long, cudaDataType input, long long*, long long, long long,
                          cudaDataType output, long long batch, std::size_t* work_bytes,
                          cudaDataType) {
  if (work_bytes == nullptr) return CUFFT_INVALID_VALUE;
  Plan plan;
  cufftResult known = Plans::Get().Find(handle, &plan);
  if (known != CUFFT_SUCCESS) return known;
  Transform transform;
  known = Describe(Lengths(rank, n), batch, input, output, &transform);
  if (known == CUFFT_SUCCESS) *work_bytes = transform.WorkBytes();
  return known;
}

}  // namespace planning

namespace execution {

cufftResult ExecC2C(cufftHandle handle, cufftComplex* in, cufftComplex* out, int direction) {
  if (!IsDirection(direction)) return CUFFT_INVALID_VALUE;
  return Run(handle, Sides{CUDA_C_32F, CUDA_C_32F}, in, out, direction);
}
cufftResult ExecZ2Z(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleComplex* out,
                    int direction) {
  if (!IsDirection(direction)) return CUFFT_INVALID_VALUE;
  return Run(handle, Sides{CUDA_C_64F, CUDA_C_64F}, in, out, direction);
}
cufftResult ExecR2C(cufftHandle handle, cufftReal* in, cufftComplex* out) {
  return Run(handle, Sides{CUDA_R_32F, CUDA_C_32F}, in, out);
}
cufftResult ExecD2Z(cufftHandle handle, cufftDoubleReal* in, cufftDoubleComplex* out) {
  return Run(handle, Sides{CUDA_R_64F, CUDA_C_64F}, in, out);
}
cufftResult ExecC2R(cufftHandle handle, cufftComplex* in, cufftReal* out) {
  return Run(handle, Sides{CUDA_C_32F, CUDA_R_32F}, in, out);
}
cufftResult ExecZ2D(cufftHandle handle, cufftDoubleComplex* in, cufftDoubleReal* out) {
  return Run(handle, Sides{CUDA_C_64F, CUDA_R_64F}, in, out);
}
cufftResult XtExec(cufftHandle handle, void* in, void* out, int direction) {
  if (!IsDirection(direction)) return CUFFT_INVALID_VALUE;
  return Run(handle, nullptr, in, out, direction);
}

}  // namespace execution

}  // namespace eidolon::shim::cufft
