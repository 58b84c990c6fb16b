#include "services/agent/server/recording_output.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/contract/recording/recording_file.h"

namespace eidolon::agent::server {

using base::StrCat;

base::Result<void> WriteRecording(const JobParts& job, const Processes& processes) {
  const std::uint32_t server = job.assignment.server();
  const std::uint32_t per_server = job.assignment.ranks_per_server();
  std::vector<::eidolon::recording::RankPart> parts;
  for (const auto& [number, session] : processes.all()) {
    const std::optional<std::int32_t> rank = processes.ranks().RankOf(number);
    // Launchers and compilers ask for nothing that a prediction shows.
    if (session->recording() == nullptr || !rank.has_value()) continue;
    auto part = session->recording()->Take();
    if (!part) return base::Wrap(StrCat("recording rank ", *rank), part.error());
    part->header.server = server;
    part->header.rank = *rank;
    part->header.local_rank = *rank - static_cast<std::int32_t>(server * per_server);
    part->header.device_count = static_cast<std::uint32_t>(job.content.devices.size());
    parts.push_back(std::move(*part));
  }
  return ::eidolon::recording::WriteRanks(parts,
                                          StrCat(job.assignment.run_directory(), "/recording"));
}

}  // namespace eidolon::agent::server
