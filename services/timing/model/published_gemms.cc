#include "services/timing/model/published_gemms.h"

#include <zstd.h>

#include <cmath>

#include "services/base/check.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

// Whose rows may stand in for others: the architecture, as far as libraries tell them apart, and
// bytes of bandwidth an operation in BF16.
struct Kind {
  std::string_view gpu;
  std::uint32_t architecture;
  double bytes;
};
constexpr Kind kKinds[] = {{"A100-SXM4-80GB", 8, 7.52e-3},
                           {"H100-SXM5-80GB", 9, 4.22e-3},
                           {"H200-SXM-141GB", 9, 6.04e-3},
                           {"B200-SXM-180GB", 10, 4.41e-3},
                           {"GB200", 10, 4.39e-3},
                           {"B300-SXM-288GB", 10, 4.21e-3},
                           {"RTX-PRO-6000-Server", 12, 4.29e-3}};

// Ada has the matrix instructions and the memory of the RTX parts after it, not those of A100.
std::uint32_t ArchitectureOf(const gpu_model::GpuModel& gpu) {
  const bool ada = gpu.compute_major == 8 && gpu.compute_minor == 9;
  return ada ? 12 : gpu.compute_major;
}

}  // namespace

GemmRows ReadEmbedded(const EmbeddedRows& file) {
  const auto size = ZSTD_getFrameContentSize(file.compressed.data(), file.compressed.size());
  CHECK(size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR);
  std::string text(size, '\0');
  const std::size_t written =
      ZSTD_decompress(text.data(), text.size(), file.compressed.data(), file.compressed.size());
  CHECK(written == size);
  auto rows = ParseGemmRows(text);
  CHECK(rows.has_value());
  CHECK(rows->gpu == file.gpu && rows->type == file.type);
  return std::move(*rows);
}

PublishedGemms::PublishedGemms() {
  for (const EmbeddedRows& file : AllEmbeddedRows()) {
    entries_[{std::string(file.gpu), std::string(file.type)}].file = &file;
  }
}

const PublishedGemms& PublishedGemms::Get() {
  static const PublishedGemms gemms;
  return gemms;
}

const MeasuredGemms* PublishedGemms::Find(const std::string& gpu, const std::string& type) const {
  const auto found = entries_.find({gpu, type});
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  std::call_once(entry.once, [&entry] {
    entry.gemms = std::make_unique<const MeasuredGemms>(ReadEmbedded(*entry.file));
  });
  return entry.gemms.get();
}

PublishedGemms::Carried PublishedGemms::DonorOf(const gpu_model::GpuModel& gpu,
                                                const std::string& type) const {
  const double wanted =
      std::log(static_cast<double>(gpu.memory_bytes_per_second) / Rate(gpu, "bf16"));
  Carried best;
  double nearest = 0;
  for (const Kind& kind : kKinds) {
    if (kind.gpu == gpu.name || !entries_.contains({std::string(kind.gpu), type})) continue;
    const bool same = kind.architecture == ArchitectureOf(gpu);
    const double away = std::abs(std::log(kind.bytes) - wanted);
    const bool better = same != best.same_architecture ? same : away < nearest;
    if (!best.donor.empty() && !better) continue;
    best = {.gemms = nullptr, .donor = kind.gpu, .same_architecture = same};
    nearest = away;
  }
  return best;
}

PublishedGemms::Carried PublishedGemms::CarriedTo(const gpu_model::GpuModel& gpu,
                                                  const std::string& type) const {
  Carried carried = DonorOf(gpu, type);
  if (carried.donor.empty()) return carried;
  carried.gemms = Find(std::string(carried.donor), type);
  GemmRoof roof = carried.gemms->roof();
  roof.bandwidth = static_cast<double>(gpu.memory_bytes_per_second);
  roof.rate = Rate(gpu, type);
  roof.clock = static_cast<double>(gpu.boost_clock_hz);
  const CarriedKey key = {carried.gemms, roof.bandwidth, roof.rate, roof.clock};
  const std::lock_guard lock(carried_mutex_);
  auto found = carried_.find(key);
  if (found == carried_.end()) {
    found = carried_.emplace(key, MeasuredGemms(*carried.gemms, roof)).first;
  }
  carried.gemms = &found->second;
  return carried;
}

}  // namespace eidolon::timing::model
