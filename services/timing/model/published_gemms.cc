#include "services/timing/model/published_gemms.h"

#include <zstd.h>

#include "services/base/check.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

// Whose rows stand in for GPUs of an architecture.
struct Donor {
  std::uint32_t major;
  std::uint32_t minor;
  const char* gpu;
};
constexpr Donor kDonors[] = {
    {8, 0, "A100-SXM4-80GB"}, {9, 0, "H100-SXM5-80GB"}, {10, 0, "B200-SXM-180GB"}};

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

const MeasuredGemms* PublishedGemms::CarriedTo(const gpu_model::GpuModel& gpu,
                                               const std::string& type) const {
  for (const Donor& donor : kDonors) {
    if (donor.major != gpu.compute_major || donor.minor != gpu.compute_minor) continue;
    const MeasuredGemms* from = Find(donor.gpu, type);
    if (from == nullptr) return nullptr;
    GemmRoof roof = from->roof();
    roof.bandwidth = static_cast<double>(gpu.memory_bytes_per_second);
    roof.rate = Rate(gpu, type);
    const CarriedKey key = {from, roof.bandwidth, roof.rate};
    const std::lock_guard lock(carried_mutex_);
    const auto found = carried_.find(key);
    if (found != carried_.end()) return &found->second;
    return &carried_.emplace(key, MeasuredGemms(*from, roof)).first->second;
  }
  return nullptr;
}

}  // namespace eidolon::timing::model
