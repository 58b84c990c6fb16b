#include "services/timing/count_flags.h"

#include <CLI/CLI.hpp>

#include "services/base/cache_folder.h"

namespace eidolon::timing {

std::string DefaultCountFolder() {
  const std::string cache = base::CacheFolder();
  return cache.empty() ? "" : cache + "/kernels";
}

void AddCountFlags(CLI::App* app, CountFlags* flags) {
  flags->folder = DefaultCountFolder();
  app->add_option("--kernel-counts", flags->folder,
                  "folder of what unknown kernels execute, for 'eidolon kernel explain'")
      ->envname("EIDOLON_KERNEL_COUNTS")
      ->capture_default_str();
  app->add_flag("--count-all-kernels", flags->all,
                "count every kernel's code, also where a model knows its time");
}

}  // namespace eidolon::timing
