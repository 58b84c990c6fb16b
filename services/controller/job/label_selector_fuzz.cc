// Any bytes as a label selector: refused with a sentence, or one that judges any object.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/job/label_selector.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using eidolon::controller::job::LabelSelector;
  const auto selector =
      LabelSelector::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!selector) {
    CHECK(!selector.error().message.empty());
    return 0;
  }
  selector->Matches({{"metadata", {{"labels", {{"a", "b"}}}}}});
  selector->Matches(nlohmann::json());
  return 0;
}
