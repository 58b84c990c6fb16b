// Any lines NAME=VALUE as a job's environment: NCCL's switches are read, or named in an error.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/collective/tuning.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::map<std::string, std::string> environment;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view line : eidolon::base::Split(text, '\n')) {
    const std::size_t cut = std::min(line.find('='), line.size());
    environment.emplace(line.substr(0, cut), line.substr(std::min(cut + 1, line.size())));
  }
  const auto tuning = eidolon::network::collective::ParseTuning(environment);
  if (!tuning) CHECK(tuning.error().message.find("NCCL_") != std::string::npos);
  return 0;
}
