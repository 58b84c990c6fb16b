#include "services/cli/job_document.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/cli/client.h"
#include "services/cli/follow.h"
#include "services/cli/run_document.h"
#include "services/controller/job/document.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {

using base::StrCat;
using controller::shown::At;
using nlohmann::json;

base::Result<json> ReadJobDocument(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return std::unexpected(text.error());
  auto documents = controller::job::ParseDocuments(*text);
  if (!documents) return base::Wrap(path, documents.error());
  json document = std::move(documents->front());
  // A document that was submitted has no status; one of a list has neither.
  if (documents->size() != 1 || !At(document, {"status"}).is_object()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      StrCat(path,
                             ": holds no job that has run; 'eidolon get JOB -o json' and "
                             "'eidolon run -o json' print one"));
  }
  return document;
}

base::Result<json> FetchJobDocument(const Globals& globals, const std::string& name) {
  const auto target = FindTarget(globals);
  if (!target) return std::unexpected(target.error());
  return Client(*target).SendForJson({.path = JobPath(globals.name_space, name)});
}

}  // namespace eidolon::cli
