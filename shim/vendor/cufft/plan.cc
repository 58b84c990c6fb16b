// The time of a transform is counted: 5 n log2 n operations for n complex points, as FFTW's
// benchmarks count them, half of it when one side is real, and as many passes over memory as a
// dimension needs when a kernel transforms 2^12 points in one. Real transforms keep half of the
// last dimension and one more element on the complex side; in place, the real side is padded to the
// complex rows. Numbers of points are limited to 2^48, so that no product overflows. Plans are
// copied out of the table before work is submitted, as submitting may wait for the ring.
#include "shim/vendor/cufft/plan.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "services/base/sim_time.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/gemm.h"

namespace eidolon::shim::cufft {
namespace {

constexpr std::size_t kRankMax = 3;
// Points of one dimension that a kernel transforms in one pass over memory.
constexpr int kPassBits = 12;
constexpr std::uint64_t kElementsMax = std::uint64_t{1} << 48;

bool IsComplex(cudaDataType type) { return library::IsComplex(static_cast<std::uint32_t>(type)); }

std::uint64_t Bytes(cudaDataType type, std::uint64_t count) {
  return library::BytesOf(static_cast<std::uint32_t>(type), count);
}

std::uint64_t Product(std::span<const long long> lengths) {
  std::uint64_t product = 1;
  for (const long long length : lengths) product *= static_cast<std::uint64_t>(length);
  return product;
}

// Half of the last dimension, and one more, on the complex side of a real transform.
std::uint64_t HalfProduct(std::span<const long long> lengths) {
  return Product(lengths.first(lengths.size() - 1)) *
         (static_cast<std::uint64_t>(lengths.back()) / 2 + 1);
}

int Log2Ceil(std::uint64_t n) { return n <= 1 ? 0 : std::bit_width(n - 1); }

std::uint64_t Elements(const Transform& transform, cudaDataType side, cudaDataType other) {
  const auto batch = static_cast<std::uint64_t>(transform.batch);
  const bool half = IsComplex(side) && !IsComplex(other);
  return batch * (half ? HalfProduct(transform.lengths) : Product(transform.lengths));
}

}  // namespace

std::uint64_t Transform::InputElements() const { return Elements(*this, input, output); }
std::uint64_t Transform::OutputElements() const { return Elements(*this, output, input); }

std::uint64_t Transform::Flops() const {
  const std::uint64_t points = Product(lengths);
  const std::uint64_t full =
      5 * points * static_cast<std::uint64_t>(Log2Ceil(points)) * static_cast<std::uint64_t>(batch);
  return IsComplex(input) && IsComplex(output) ? full : full / 2;
}

std::uint64_t Transform::MemoryBytes() const {
  std::uint64_t passes = 0;
  for (const long long length : lengths) {
    const int bits = Log2Ceil(static_cast<std::uint64_t>(length));
    passes += static_cast<std::uint64_t>(std::max(1, (bits + kPassBits - 1) / kPassBits));
  }
  return passes * (Bytes(input, InputElements()) + Bytes(output, OutputElements()));
}

std::size_t Transform::WorkBytes() const {
  std::uint64_t bytes = 0;
  if (IsComplex(input)) bytes = Bytes(input, InputElements());
  if (IsComplex(output)) bytes = std::max(bytes, Bytes(output, OutputElements()));
  return bytes;
}

cufftResult Describe(std::span<const long long> lengths, long long batch, cudaDataType input,
                     cudaDataType output, Transform* transform) {
  if (lengths.empty() || lengths.size() > kRankMax || batch < 1) return CUFFT_INVALID_SIZE;
  auto elements = static_cast<std::uint64_t>(batch);
  for (const long long length : lengths) {
    if (length < 1) return CUFFT_INVALID_SIZE;
    if (elements > kElementsMax / static_cast<std::uint64_t>(length)) return CUFFT_INVALID_SIZE;
    elements *= static_cast<std::uint64_t>(length);
  }
  if (Bytes(input, 1) == 0 || Bytes(output, 1) == 0) return CUFFT_INVALID_TYPE;
  if (!IsComplex(input) && !IsComplex(output)) return CUFFT_INVALID_TYPE;
  *transform = {.lengths = {lengths.begin(), lengths.end()},
                .batch = batch,
                .input = input,
                .output = output};
  return CUFFT_SUCCESS;
}

cufftResult Describe(std::span<const long long> lengths, long long batch, cufftType type,
                     Transform* transform) {
  struct Types {
    cufftType type;
    cudaDataType input;
    cudaDataType output;
  };
  static constexpr Types kTypes[] = {
      {CUFFT_C2C, CUDA_C_32F, CUDA_C_32F}, {CUFFT_R2C, CUDA_R_32F, CUDA_C_32F},
      {CUFFT_C2R, CUDA_C_32F, CUDA_R_32F}, {CUFFT_Z2Z, CUDA_C_64F, CUDA_C_64F},
      {CUFFT_D2Z, CUDA_R_64F, CUDA_C_64F}, {CUFFT_Z2D, CUDA_C_64F, CUDA_R_64F},
  };
  for (const Types& types : kTypes) {
    if (types.type == type) return Describe(lengths, batch, types.input, types.output, transform);
  }
  return CUFFT_INVALID_TYPE;
}

namespace {

compute::FourierSide SideOf(const Transform& transform, const void* address, cudaDataType type,
                            const std::optional<Layout>& layout, long long width) {
  compute::FourierSide side{.address = reinterpret_cast<std::uint64_t>(address),
                            .type = library::ElementOf(static_cast<std::uint32_t>(type))};
  const std::vector<long long>& sizes = layout ? layout->embed : transform.lengths;
  std::copy(sizes.begin(), sizes.end(), side.embed.end() - std::ssize(sizes));
  if (layout) {
    side.stride = layout->stride;
    side.distance = layout->distance;
    return side;
  }
  side.embed[2] = width;
  side.distance = side.embed[0] * side.embed[1] * side.embed[2];
  return side;
}

}  // namespace

compute::Fourier FourierOf(const Transform& transform, bool inverse, const void* in,
                           const void* out) {
  const bool from_real = !IsComplex(transform.input);
  const bool to_real = !IsComplex(transform.output);
  compute::Fourier fourier{
      .batch = transform.batch, .inverse = inverse, .from_real = from_real, .to_real = to_real};
  std::copy(transform.lengths.begin(), transform.lengths.end(),
            fourier.lengths.end() - std::ssize(transform.lengths));
  const long long full = transform.lengths.back();
  const long long half = full / 2 + 1;
  const long long real = in == out ? 2 * half : full;
  const auto width = [&](bool this_real, bool other_real) {
    return this_real ? real : other_real ? half : full;
  };
  fourier.input =
      SideOf(transform, in, transform.input, transform.input_layout, width(from_real, to_real));
  fourier.output =
      SideOf(transform, out, transform.output, transform.output_layout, width(to_real, from_real));
  return fourier;
}

cufftResult Embed(Layout input, Layout output, Transform* transform) {
  for (const Layout* layout : {&input, &output}) {
    if (layout->embed.size() != transform->lengths.size()) return CUFFT_INVALID_SIZE;
    if (layout->stride < 1 || layout->distance < 0) return CUFFT_INVALID_VALUE;
    base::Wide elements = static_cast<base::Wide>(layout->stride);
    for (const long long length : layout->embed) {
      if (length < 1) return CUFFT_INVALID_SIZE;
      elements *= static_cast<std::uint64_t>(length);
      if (elements > kElementsMax) return CUFFT_INVALID_SIZE;
    }
    elements +=
        static_cast<base::Wide>(layout->distance) * static_cast<std::uint64_t>(transform->batch);
    if (elements > kElementsMax) return CUFFT_INVALID_SIZE;
  }
  transform->input_layout = std::move(input);
  transform->output_layout = std::move(output);
  return CUFFT_SUCCESS;
}

struct Plans::Impl {
  std::mutex mutex;  // Guards the two below.
  std::map<cufftHandle, Plan> plans;
  cufftHandle next = 1;

  // Requires: the lock. A plan's own work area goes back.
  static void ReleaseWorkArea(Plan& plan) {
    if (plan.auto_allocate && plan.work_area != 0) gpu::Free(plan.work_area);
    plan.work_area = 0;
  }
};

Plans::Plans() : impl_(*new Impl) {}

Plans& Plans::Get() {
  static Plans& plans = *new Plans;  // Never destroyed: threads may outlive main.
  return plans;
}

cufftResult Plans::Create(cufftHandle* handle) {
  if (handle == nullptr) return CUFFT_INVALID_VALUE;
  const std::lock_guard lock(impl_.mutex);
  *handle = impl_.next++;
  impl_.plans.emplace(*handle, Plan{});
  return CUFFT_SUCCESS;
}

cufftResult Plans::Destroy(cufftHandle handle) {
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  Impl::ReleaseWorkArea(found->second);
  impl_.plans.erase(found);
  return CUFFT_SUCCESS;
}

cufftResult Plans::Find(cufftHandle handle, Plan* plan) {
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  *plan = found->second;
  return CUFFT_SUCCESS;
}

cufftResult Plans::Make(cufftHandle handle, Transform transform, std::size_t* work_bytes) {
  if (work_bytes == nullptr) return CUFFT_INVALID_VALUE;
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  Plan& plan = found->second;
  if (plan.made) return CUFFT_INVALID_PLAN;  // A plan is made once, as in the real library.
  *work_bytes = transform.WorkBytes();
  if (plan.auto_allocate &&
      gpu::Allocate(gpu::CurrentDevice(), *work_bytes, &plan.work_area) != gpu::Status::kSuccess) {
    return CUFFT_ALLOC_FAILED;
  }
  plan.transform = std::move(transform);
  plan.made = true;
  return CUFFT_SUCCESS;
}

cufftResult Plans::SetStream(cufftHandle handle, cudaStream_t stream) {
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  found->second.stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult Plans::SetAutoAllocation(cufftHandle handle, bool on) {
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  if (!found->second.made) found->second.auto_allocate = on;
  return CUFFT_SUCCESS;
}

cufftResult Plans::SetWorkArea(cufftHandle handle, void* area) {
  const std::lock_guard lock(impl_.mutex);
  const auto found = impl_.plans.find(handle);
  if (found == impl_.plans.end()) return CUFFT_INVALID_PLAN;
  Impl::ReleaseWorkArea(found->second);
  found->second.auto_allocate = false;
  found->second.work_area = reinterpret_cast<std::uint64_t>(area);
  return CUFFT_SUCCESS;
}

}  // namespace eidolon::shim::cufft
