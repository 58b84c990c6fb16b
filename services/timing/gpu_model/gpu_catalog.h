// The GPU models a service knows: those built in, and the user's own files on top.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::gpu_model {

// Immutable after loading; safe to read from any thread.
class GpuCatalog {
 public:
  // The built-in models alone, whatever files a user has: they say where published rows and tables
  // were measured.
  static const GpuCatalog& BuiltIn();

  // The built-in models, then every *.yaml of `user_directory` (none when empty) in name order. A
  // file of the user replaces a built-in model of the same name. Two files of one name are an
  // error.
  static base::Result<GpuCatalog> Load(const std::string& user_directory);

  // Names the known models, and the nearest one, when there is none of this name.
  base::Result<const GpuModel*> Find(std::string_view name) const;

  std::vector<std::string> names() const;

 private:
  std::map<std::string, GpuModel, std::less<>> models_;
};

}  // namespace eidolon::timing::gpu_model
