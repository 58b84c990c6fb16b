// A row's time is kept as its ratio to the roof of the GPU that it was measured on
// (kernel_class.h), at a place among other rows. A question is answered by the ratio near its
// place, times the roof of the GPU, head size and window that are asked for: that one step carries
// a row to other GPUs and classes, with an error of its own for each. A table is made ready when it
// is first asked for, since a job needs few of a file's. `once` flags guard both; entries are
// pointers because a flag cannot be moved.
#include "services/timing/model/published_kernels.h"

#include <cmath>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/reference_gpus.h"

namespace eidolon::timing::model {
namespace {

// Difference of repeated measurements.
constexpr double kPublishedRepeatError = 0.02;
// Makes the stated error the standard deviation of rows that are left out.
constexpr double kPublishedScatterShare = 1.2;
// From here on a shape lies beyond the rows: an octave and a half.
constexpr double kPublishedNear = 1.5;
constexpr double kPublishedBeyondError = 0.1;  // For each unit of distance from there on.
constexpr double kUnlikeError = 0.1;           // Another head size or window.
constexpr double kAnotherGpuError = 0.12;
constexpr double kAnotherArchitectureError = 0.6;

std::vector<float> PointsOf(const KernelClass& kernel, const KernelTable& table) {
  std::vector<float> points;
  std::vector<double> sizes(table.columns);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto shape = table.Shape(i);
    sizes.assign(shape.begin(), shape.end());
    const KernelPlace place = PlaceOf(kernel, sizes);
    for (std::size_t d = 0; d < place.dimensions; ++d) {
      points.push_back(static_cast<float>(place.numbers[d]));
    }
  }
  return points;
}

std::vector<float> RatiosOf(const KernelRoof& roof, const KernelClass& kernel,
                            const KernelTable& table) {
  std::vector<float> ratios;
  ratios.reserve(table.size());
  std::vector<double> sizes(table.columns);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto shape = table.Shape(i);
    sizes.assign(shape.begin(), shape.end());
    const double least = std::log(RoofSeconds(roof, kernel, sizes));
    ratios.push_back(table.log_seconds[i] - static_cast<float>(least));
  }
  return ratios;
}

KernelClass ClassOf(const KernelTable& table) {
  auto kernel = ParseKernelClass(table.name);
  CHECK(kernel.has_value() && kernel->columns() == table.columns);
  return std::move(*kernel);
}

NearbyRows RowsOf(const KernelRoof& roof, const KernelTable& table) {
  const KernelClass kernel = ClassOf(table);
  std::vector<float> ratios = RatiosOf(roof, kernel, table);
  std::vector<float> points = PointsOf(kernel, table);
  const std::size_t dimensions = points.size() / ratios.size();
  return {dimensions, std::move(points), std::move(ratios)};
}

// Returns how unlike two classes of the same kernel are: 0 for the same, nothing where one cannot
// stand in for the other.
std::optional<double> Unlike(const KernelClass& a, const KernelClass& b) {
  if (a.phase != b.phase || a.kernel != b.kernel || a.type != b.type ||
      a.cache_type != b.cache_type || a.distribution != b.distribution) {
    return std::nullopt;
  }
  if (!a.attention()) return 0;
  const double window = (a.window > 0) == (b.window > 0)
                            ? (a.window > 0 ? 0.3 * std::abs(std::log2(a.window / b.window)) : 0)
                            : 2;
  return std::abs(std::log2(a.head_size / b.head_size)) + window;
}

}  // namespace

PublishedKernel::PublishedKernel(const KernelRoof& roof, const KernelTable& table)
    : roof_(roof), kernel_(ClassOf(table)), rows_(RowsOf(roof, table)) {}

PublishedKernel::Answer PublishedKernel::Read(const KernelRoof& roof, const KernelClass& kernel,
                                              std::span<const double> sizes) const {
  const KernelPlace place = PlaceOf(kernel, sizes);
  const NearbyRows::Answer found = rows_.At(std::span(place.numbers).first(place.dimensions));
  const bool same = Unlike(kernel, kernel_) == 0.0;
  const bool own = roof.bandwidth == roof_.bandwidth && roof.rate == roof_.rate;
  Answer answer;
  answer.seconds = RoofSeconds(roof, kernel, sizes) * std::exp(found.value);
  answer.measured = found.exact && same && own;
  answer.inside = found.distance <= kPublishedNear && same;
  answer.relative_error =
      std::hypot(kPublishedRepeatError, kPublishedScatterShare * found.scatter) +
      kPublishedBeyondError * std::max(0.0, found.distance - kPublishedNear);
  if (!same) answer.relative_error += kUnlikeError;
  if (!own) answer.relative_error += kAnotherGpuError;
  return answer;
}

KernelRows ReadEmbeddedKernels(const EmbeddedRows& file) {
  auto rows = ParseKernelRows(Decompress(file));
  CHECK(rows.has_value());
  CHECK(rows->gpu == file.gpu && rows->family == file.type);
  return std::move(*rows);
}

KernelRoof RoofOf(const KernelRows& rows) { return {rows.bandwidth, rows.rate}; }

KernelRoof RoofOf(const gpu_model::GpuModel& gpu) {
  return {static_cast<double>(gpu.memory_bytes_per_second), Rate(gpu, "bf16")};
}

PublishedKernels::PublishedKernels() {
  for (const EmbeddedRows& file : EmbeddedKernelRows()) {
    auto& tables = tables_[{std::string(file.gpu), std::string(file.type)}];
    tables = std::make_unique<Tables>();
    tables->file = &file;
  }
}

const PublishedKernels& PublishedKernels::Get() {
  static const PublishedKernels kernels;
  return kernels;
}

const PublishedKernel* PublishedKernels::Find(std::string_view gpu,
                                              const KernelClass& kernel) const {
  const auto found = tables_.find({std::string(gpu), std::string(kernel.family())});
  if (found == tables_.end()) return nullptr;
  Tables& tables = *found->second;
  std::call_once(tables.once, [&tables] {
    tables.rows = ReadEmbeddedKernels(*tables.file);
    tables.roof = RoofOf(tables.rows);
    for (const KernelTable& table : tables.rows.tables) {
      auto entry = std::make_unique<Tables::Entry>();
      entry->kernel = ClassOf(table);
      entry->table = &table;
      tables.entries.push_back(std::move(entry));
    }
  });
  Tables::Entry* best = nullptr;
  double nearest = 0;
  for (const auto& entry : tables.entries) {
    const auto unlike = Unlike(kernel, entry->kernel);
    if (!unlike || (best != nullptr && *unlike >= nearest)) continue;
    best = entry.get();
    nearest = *unlike;
  }
  if (best == nullptr) return nullptr;
  std::call_once(best->once, [best, &tables] {
    best->ready = std::make_unique<const PublishedKernel>(tables.roof, *best->table);
  });
  return best->ready.get();
}

std::optional<PublishedKernels::Answer> PublishedKernels::Read(
    const gpu_model::GpuModel& gpu, const KernelClass& kernel,
    std::span<const double> sizes) const {
  if (const PublishedKernel* own = Find(gpu.name, kernel)) {
    return Answer{own->Read(RoofOf(gpu), kernel, sizes), gpu.name};
  }
  for (const ReferenceGpu& reference_gpu : ReferenceGpusFor(gpu)) {
    if (!reference_gpu.same_architecture) break;
    const PublishedKernel* other = Find(reference_gpu.gpu->name, kernel);
    if (other == nullptr) continue;
    return Answer{other->Read(RoofOf(gpu), kernel, sizes), reference_gpu.gpu->name};
  }
  return std::nullopt;
}

std::optional<PublishedKernels::Answer> PublishedKernels::ReadCarried(
    const gpu_model::GpuModel& gpu, const KernelClass& kernel,
    std::span<const double> sizes) const {
  for (const ReferenceGpu& reference_gpu : ReferenceGpusFor(gpu)) {
    const PublishedKernel* other = Find(reference_gpu.gpu->name, kernel);
    if (other == nullptr) continue;
    Answer answer = {other->Read(RoofOf(gpu), kernel, sizes), reference_gpu.gpu->name};
    if (!reference_gpu.same_architecture) answer.time.relative_error += kAnotherArchitectureError;
    return answer;
  }
  return std::nullopt;
}

}  // namespace eidolon::timing::model
