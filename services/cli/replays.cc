#include "services/cli/replays.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/log.h"
#include "services/cli/follow.h"

namespace eidolon::cli {

using nlohmann::json;

Replays::~Replays() = default;

base::Result<std::unique_ptr<Replays>> Replays::Start(EmbeddedOptions options) {
  base::SetLogLevel(base::Level::kWarning);
  auto data = RunData::Make(options.controller.data_directory);
  if (!data) return std::unexpected(data.error());
  std::unique_ptr<Replays> made(new Replays(std::move(*data)));
  options.controller.data_directory = made->data_.path();
  if (made->data_.is_temporary()) options.controller.temporary_folders = {made->data_.path()};
  options.controller.rest_address.clear();
  auto embedded = Embedded::Start(options);
  if (!embedded) return std::unexpected(embedded.error());
  made->embedded_ = std::move(*embedded);
  made->client_ = std::make_unique<Client>(made->embedded_->target());
  return made;
}

base::Result<json> Replays::Predict(const json& document,
                                    const std::function<bool(const json& job)>& goes_on) {
  const auto created = client_->SendForJson({.method = "POST",
                                             .path = JobPath("default"),
                                             .body = document.dump(),
                                             .content_type = "application/json"});
  if (!created) return std::unexpected(created.error());
  const std::string name = (*created)["metadata"].value("name", "");
  bool is_ended = false;
  FollowOptions options = {.name = name, .logs = false};
  if (goes_on) options.goes_on = [&](const json& job) { return !(is_ended = !goes_on(job)); };
  auto job = Follow(*client_, options, &terminal_);
  if (!is_ended) return job;
  const auto deleted = client_->Send({.method = "DELETE", .path = JobPath("default", name)});
  // It may have been over by then, and is forgotten all the same.
  if (!deleted) return std::unexpected(deleted.error());
  return job;
}

base::Result<void> Replays::Fetch(const std::string& job, const std::string& what,
                                  const std::string& file) const {
  return FetchJobFile(*client_, {.name_space = "default", .job = job, .what = what, .file = file});
}

}  // namespace eidolon::cli
