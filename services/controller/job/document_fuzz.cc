// Any bytes as a document: parsed, then read as job and as cluster, then written as YAML and read
// back.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/job/document.h"
#include "services/controller/job/job.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace job = eidolon::controller::job;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto documents = job::ParseDocuments(text);
  if (!documents) {
    CHECK(!documents.error().message.empty());
    return 0;
  }
  for (const nlohmann::json& document : *documents) {
    const job::ParsedJob parsed = job::ParseJob(document, job::Mode::kEmbedded);
    if (parsed.problems.empty()) CHECK(!parsed.spec.command.empty());
    job::ParseCluster(document);
  }
  return 0;
}
