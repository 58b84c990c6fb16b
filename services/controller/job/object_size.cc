#include "services/controller/job/object_size.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::job {

using nlohmann::json;

std::size_t SizeOf(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).size();
}

void CheckSpecSize(const json& document, std::size_t bytes_max, Problems* problems) {
  const auto spec = document.find("spec");
  if (spec == document.end() || !spec->is_object()) return;
  const std::size_t size = SizeOf(*spec);
  if (size <= bytes_max) return;
  std::string largest;
  std::size_t most = 0;
  for (const auto& [name, value] : spec->items()) {
    const std::size_t bytes = SizeOf(value);
    if (bytes <= most) continue;
    most = bytes;
    largest = name.substr(0, 64);
  }
  problems->push_back({"/spec", base::StrCat("has ", size, " bytes as JSON, ", most, " of them in ",
                                             largest, "; the cluster can store at most ", bytes_max,
                                             ": put large parts into a ConfigMap or the image")});
}

}  // namespace eidolon::controller::job
