// Decompressing and filling a file's grid takes longer than any answer, so each is done once, when
// its GPU is first asked for. What is carried to another GPU is kept by all numbers that it depends
// on and not by name alone: users' model files may share a name and differ. The lock is held while
// it is made, so that equal questions wait instead of repeating it. Pointers that are handed out
// stay valid, because entries are never removed. The GPUs that rows were measured on are described
// by the built-in files, whatever a user's file of that name says.
#include "services/timing/model/published_gemms.h"

#include <vector>

#include "services/base/check.h"
#include "services/timing/model/gemm_transfer.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/reference_gpus.h"

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

namespace {

GemmRoof RoofOf(const gpu_model::GpuModel& gpu, const std::string& type) {
  return {.bandwidth = static_cast<double>(gpu.memory_bytes_per_second),
          .rate = Rate(gpu, type),
          .clock = static_cast<double>(gpu.boost_clock_hz),
          .input_bytes = type == "fp8" ? 1.0 : 2.0,
          .output_bytes = 2};
}

}  // namespace

PublishedGemms::CarriedEntry PublishedGemms::Carry(const gpu_model::GpuModel& gpu,
                                                   const std::string& type) const {
  CarriedEntry entry;
  const GemmRoof roof = RoofOf(gpu, type);
  const auto own = entries_.find({gpu.name, type});
  if (gpu.clock_scale != 1 && own != entries_.end()) {
    const MeasuredGemms& rows = *Find(gpu.name, type);
    GemmRoof scaled = rows.roof();
    scaled.rate *= gpu.clock_scale;
    scaled.clock *= gpu.clock_scale;
    entry.gemms = std::make_unique<const MeasuredGemms>(rows, scaled);
    entry.carried = {entry.gemms.get(), own->first.first, 1, true};
    return entry;
  }
  std::vector<TransferReferenceGpu> reference_gpus;
  for (const ReferenceGpu& reference_gpu : ReferenceGpusFor(gpu)) {
    const std::string& name = reference_gpu.gpu->name;
    if (!entries_.contains({name, type})) continue;
    // The most alike come first.
    if (entry.carried.same_architecture && !reference_gpu.same_architecture) break;
    if (reference_gpus.empty()) entry.carried.reference_gpu = name;
    entry.carried.same_architecture = reference_gpu.same_architecture;
    reference_gpus.push_back({Find(name, type), TransferHardwareOf(*reference_gpu.gpu, type)});
  }
  if (reference_gpus.empty()) return entry;
  entry.carried.reference_gpus = reference_gpus.size();
  entry.gemms = std::make_unique<const MeasuredGemms>(CarriedGemms(
      PublishedTransferConstants(gpu.name), TransferHardwareOf(gpu, type), roof, reference_gpus));
  entry.carried.gemms = entry.gemms.get();
  return entry;
}

PublishedGemms::Carried PublishedGemms::CarriedTo(const gpu_model::GpuModel& gpu,
                                                  const std::string& type) const {
  const TransferHardware hardware = TransferHardwareOf(gpu, type);
  const CarriedKey key = {gpu.name,
                          type,
                          {hardware.multiprocessors, hardware.clock, hardware.bandwidth,
                           hardware.rate, hardware.l2_bytes, Rate(gpu, type), gpu.clock_scale}};
  const std::lock_guard lock(carried_mutex_);
  auto found = carried_.find(key);
  if (found == carried_.end()) found = carried_.emplace(key, Carry(gpu, type)).first;
  return found->second.carried;
}

}  // namespace eidolon::timing::model
