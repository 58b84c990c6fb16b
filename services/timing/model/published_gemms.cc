#include "services/timing/model/published_gemms.h"

#include "services/base/check.h"
#include "services/timing/model/donors.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
GemmRows ReadEmbedded(const EmbeddedRows& file) {
  auto rows = ParseGemmRows(Decompress(file));
  CHECK(rows.has_value());
  CHECK(rows->gpu == file.gpu && rows->type == file.type);
  return std::move(*rows);
}

PublishedGemms::PublishedGemms() {
  for (const EmbeddedRows& file : EmbeddedGemmRows()) {
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
  const auto own = entries_.find({gpu.name, type});
  if (gpu.clock_scale != 1 && own != entries_.end()) {
    return {.gemms = nullptr, .donor = own->first.first, .same_architecture = true};
  }
  for (const Donor& donor : DonorsFor(gpu)) {
    if (!entries_.contains({std::string(donor.gpu), type})) continue;
    return {.gemms = nullptr, .donor = donor.gpu, .same_architecture = donor.same_architecture};
  }
  return {};
}

PublishedGemms::Carried PublishedGemms::CarriedTo(const gpu_model::GpuModel& gpu,
                                                  const std::string& type) const {
  Carried carried = DonorOf(gpu, type);
  if (carried.donor.empty()) return carried;
  carried.gemms = Find(std::string(carried.donor), type);
  GemmRoof roof = carried.gemms->roof();
  if (carried.donor == gpu.name) {
    roof.rate *= gpu.clock_scale;
    roof.clock *= gpu.clock_scale;
  } else {
    roof.bandwidth = static_cast<double>(gpu.memory_bytes_per_second);
    roof.rate = Rate(gpu, type);
    roof.clock = static_cast<double>(gpu.boost_clock_hz);
  }
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
