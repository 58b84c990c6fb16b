// The rows of GEMMs that the product ships (profiles/, put into the binary by the build), by GPU
// and type, and what follows from them for GPUs of the same architecture that have none.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/gemm_rows.h"
#include "services/timing/model/measured_gemms.h"

namespace eidolon::timing::model {

// A file of profiles/ as it lies in the binary.
struct EmbeddedRows {
  std::string_view gpu;
  std::string_view type;
  std::string_view compressed;
};

// Written by embed_profiles.cmake, by GPU and type.
std::span<const EmbeddedRows> AllEmbeddedRows();

// Ends the process when the file is damaged: it is our own.
GemmRows ReadEmbedded(const EmbeddedRows& file);

// Files are read when they are first asked for. Safe from any thread.
class PublishedGemms {
 public:
  static const PublishedGemms& Get();

  // Null without rows of this GPU and type.
  const MeasuredGemms* Find(const std::string& gpu, const std::string& type) const;
  // From the rows of the GPU that is most alike; null where no rows are of its architecture.
  const MeasuredGemms* CarriedTo(const gpu_model::GpuModel& gpu, const std::string& type) const;

 private:
  struct Entry {
    const EmbeddedRows* file = nullptr;
    mutable std::once_flag once;
    mutable std::unique_ptr<const MeasuredGemms> gemms;
  };

  PublishedGemms();

  std::map<std::pair<std::string, std::string>, Entry> entries_;
  // By donor, bandwidth and rate.
  using CarriedKey = std::tuple<const MeasuredGemms*, double, double>;
  mutable std::mutex carried_mutex_;
  mutable std::map<CarriedKey, const MeasuredGemms> carried_;
};

}  // namespace eidolon::timing::model
