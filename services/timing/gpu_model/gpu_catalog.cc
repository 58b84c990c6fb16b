#include "services/timing/gpu_model/gpu_catalog.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "services/base/check.h"
#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/timing/gpu_model/embedded_models.h"

namespace eidolon::timing::gpu_model {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

Result<std::vector<std::filesystem::path>> ModelFiles(const std::string& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  std::filesystem::directory_iterator entries(directory, failed);
  if (failed) {
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("GPU model directory '", directory, "': ", failed.message()));
  }
  for (const auto& entry : entries) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<GpuCatalog> GpuCatalog::Load(const std::string& user_directory) {
  GpuCatalog catalog;
  for (const EmbeddedModel& file : EmbeddedModels()) {
    auto model = ParseGpuModel(file.text, file.name);
    if (!model) return std::unexpected(model.error());
    std::string name = model->name;
    CHECK(catalog.models_.emplace(std::move(name), std::move(*model)).second);
  }
  if (user_directory.empty()) return catalog;
  auto files = ModelFiles(user_directory);
  if (!files) return std::unexpected(files.error());
  std::set<std::string> own;
  for (const auto& path : *files) {
    auto text = base::ReadRegularFile(path);
    if (!text) return std::unexpected(text.error());
    auto model = ParseGpuModel(*text, path.string());
    if (!model) return std::unexpected(model.error());
    if (!own.insert(model->name).second) {
      return base::Fail(ErrorCode::kAlreadyExists,
                        StrCat(path.string(), ": GPU model '", model->name,
                               "' stands in another file of this directory too"));
    }
    const std::string name = model->name;
    catalog.models_.insert_or_assign(name, std::move(*model));
  }
  return catalog;
}

const GpuCatalog& GpuCatalog::BuiltIn() {
  static const Result<GpuCatalog> catalog = Load("");
  CHECK(catalog.has_value());
  return *catalog;
}

Result<const GpuModel*> GpuCatalog::Find(std::string_view name) const {
  const auto found = models_.find(name);
  if (found != models_.end()) return &found->second;
  const auto known = names();
  const auto nearest = base::NearestName(name, known);
  return base::Fail(
      ErrorCode::kNotFound,
      StrCat("GPU model '", name, "' is unknown",
             nearest ? StrCat("; did you mean '", *nearest, "'? Known are ") : ". Known are ",
             base::Join(known, ", ")));
}

std::vector<std::string> GpuCatalog::names() const {
  std::vector<std::string> result;
  for (const auto& [name, model] : models_) result.push_back(name);
  return result;
}

}  // namespace eidolon::timing::gpu_model
