// The rows of GEMMs that the product ships (profiles/, put into the binary by the build), by GPU
// and type, and what follows from them for GPUs that have none.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/embedded_rows.h"
#include "services/timing/model/gemm_rows.h"
#include "services/timing/model/measured_gemms.h"

namespace eidolon::timing::model {

// Ends the process when the file is damaged: it is our own.
GemmRows ReadEmbedded(const EmbeddedRows& file);

// Files are read when they are first asked for. Safe from any thread.
class PublishedGemms {
 public:
  static const PublishedGemms& Get();

  // Null without rows of this GPU and type.
  const MeasuredGemms* Find(const std::string& gpu, const std::string& type) const;
  struct Carried {
    const MeasuredGemms* gemms = nullptr;  // Null without rows of this type.
    std::string_view reference_gpu;        // The most alike one.
    std::size_t reference_gpus = 0;
    bool same_architecture = false;
  };
  // Carries from the rows of other GPUs (gemm_transfer.h): those of the same architecture if there
  // are any, all others else. At another clock, from the GPU's own if it has any.
  Carried CarriedTo(const gpu_model::GpuModel& gpu, const std::string& type) const;

 private:
  struct Entry {
    const EmbeddedRows* file = nullptr;
    mutable std::once_flag once;
    mutable std::unique_ptr<const MeasuredGemms> gemms;
  };

  // GPU, type, and the numbers of its model file that count.
  using CarriedKey = std::tuple<std::string, std::string, std::array<double, 7>>;
  struct CarriedEntry {
    Carried carried;  // Of `gemms`.
    std::unique_ptr<const MeasuredGemms> gemms;
  };

  PublishedGemms();
  CarriedEntry Carry(const gpu_model::GpuModel& gpu, const std::string& type) const;

  std::map<std::pair<std::string, std::string>, Entry> entries_;
  mutable std::mutex carried_mutex_;
  mutable std::map<CarriedKey, CarriedEntry> carried_;
};

}  // namespace eidolon::timing::model
