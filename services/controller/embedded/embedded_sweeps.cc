// Reads, writes and waits follow the pattern of EmbeddedApi. A sweep over a recording names no job,
// although the points and the page need one: FillInJob completes the document from the recording's
// head before it is checked, so that all later code sees one form. The recording is a file of the
// user and may hold anything, so its head is parsed without exceptions and a missing part is a
// problem of the document. Deleting only marks the sweep: the driver ends its jobs first, and the
// row goes when they are gone.
#include "services/controller/embedded/embedded_sweeps.h"

#include <algorithm>
#include <memory>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/embedded/await_list.h"
#include "services/controller/embedded/store_answers.h"
#include "services/controller/sweep/change.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiResult;
using rest::ObjectName;

namespace {

constexpr std::chrono::milliseconds kGoneLimit(2'000);

// A recording says itself what was run. The error is a problem of the document.
base::Result<void> FillInJob(json* document) {
  const json::json_pointer at_job("/spec/job"), at_recording("/spec/recording");
  if (!document->contains(at_recording) || document->contains(at_job)) return {};
  const json& path = (*document)[at_recording];
  if (!path.is_string() || !path.get_ref<const std::string&>().starts_with('/')) return {};
  const auto file = recording::RecordingFile::Open(path.get<std::string>());
  if (!file) return std::unexpected(file.error());
  const json head = json::parse(file->job(), nullptr, /*allow_exceptions=*/false);
  const json::json_pointer spec("/job/spec");
  if (!head.is_object() || !head.contains(spec) || !head[spec].is_object()) {
    return base::Fail(ErrorCode::kCorrupt, "the recording does not say what was run");
  }
  json job = sweep::ReplaySpecOfRecorded(head[spec], "");
  job.erase("replay");
  (*document)[at_job] = std::move(job);
  return {};
}

}  // namespace

ApiResult<SweepEntry*> EmbeddedSweeps::Get(const ObjectName& sweep) {
  SweepEntry* entry = table().Find(sweep.name_space, sweep.name);
  if (entry != nullptr) return entry;
  return Refuse(ErrorCode::kNotFound, StrCat("no simulation sweep '", sweep.name,
                                             "' in namespace '", sweep.name_space, "'"));
}

ApiResult<json> EmbeddedSweeps::CreateSweep(const std::string& name_space, const json& document,
                                            const rest::Writer&) {
  json completed = document;
  const auto filled = FillInJob(&completed);
  sweep::ParsedSweep parsed = sweep::ParseSweep(completed, job::Mode::kEmbedded);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  if (!filled) parsed.problems.push_back({"/spec/recording", filled.error().message});
  if (!parsed.problems.empty()) return Refuse("simulation sweep", std::move(parsed.problems));
  Lock lock(state_.mutex());
  if (!state_.quota_error().empty()) return RefuseOverQuota(state_.quota_error());
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked = table().Create(
      name_space, parsed, completed, [this, answer](const base::Result<SweepEntry*>& entry) {
        if (!entry) {
          *answer = RefuseOfStore(state_.table(), entry.error());
          return;
        }
        base::Log(base::Level::kInfo, "sweep_accepted",
                  {{"namespace", (*entry)->name_space}, {"sweep", (*entry)->name}});
        *answer = SweepTable::Render(**entry);
        state_.NotifyChanged();
      });
  if (auto stored = AwaitStored(&state_.table(), &lock, asked); !stored) {
    return std::unexpected(stored.error());
  }
  return *answer;
}

ApiResult<std::vector<json>> EmbeddedSweeps::ListSweeps(const std::string& name_space) {
  const std::lock_guard lock(state_.mutex());
  std::vector<json> objects;
  for (const auto& [uid, entry] : table().all()) {
    if (name_space.empty() || entry.name_space == name_space) {
      objects.push_back(SweepTable::Render(entry));
    }
  }
  return objects;
}

ApiResult<json> EmbeddedSweeps::GetSweep(const ObjectName& sweep) {
  const std::lock_guard lock(state_.mutex());
  const auto entry = Get(sweep);
  if (!entry) return std::unexpected(entry.error());
  return SweepTable::Render(**entry);
}

ApiResult<json> EmbeddedSweeps::DeleteSweep(const ObjectName& sweep, const rest::Writer&) {
  Lock lock(state_.mutex());
  const auto entry = Get(sweep);
  if (!entry) return std::unexpected(entry.error());
  const std::int64_t uid = (*entry)->uid;
  table().MarkUnwanted(*entry);
  json object = SweepTable::Render(**entry);
  state_.NotifyChanged();
  // Without jobs that run it is only a question of the disk.
  const auto is_gone = [&] { return table().Find(uid) == nullptr; };
  if (state_.AwaitChange(&lock, kGoneLimit, is_gone)) {
    object["metadata"].erase("deletionTimestamp");
  }
  return object;
}

ApiResult<json> EmbeddedSweeps::PatchSweep(const ObjectName& sweep, const json& patch,
                                           const rest::Writer&) {
  Lock lock(state_.mutex());
  const auto found = Get(sweep);
  if (!found) return std::unexpected(found.error());
  SweepEntry& entry = **found;
  if (entry.changing) {
    return Refuse(ErrorCode::kAlreadyExists, "another change of the sweep is being stored");
  }
  if (entry.is_unwanted()) {
    return Refuse(ErrorCode::kFailedPrecondition, "the sweep is being deleted");
  }
  if (!entry.damage.empty()) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  StrCat("the stored record of the sweep is damaged: ", entry.damage));
  }
  sweep::SweepChange change = sweep::ReadSweepChange(entry.document, patch, job::Mode::kEmbedded);
  if (!change.problems.empty()) return Refuse("change", std::move(change.problems));
  if (change.of_spec && sweep::IsSweepOver({{"status", entry.status}})) {
    return Refuse(ErrorCode::kFailedPrecondition, sweep::kOverText);
  }
  json document = entry.document;
  document.merge_patch(change.patch);
  if (document == entry.document) return SweepTable::Render(entry);
  const auto answer = std::make_shared<ApiResult<json>>();
  const auto asked = table().Replace(&entry, std::move(document),
                                     [this, answer](const base::Result<SweepEntry*>& changed) {
                                       if (changed) {
                                         *answer = SweepTable::Render(**changed);
                                         state_.NotifyChanged();
                                       } else if (changed.error().code == ErrorCode::kNotFound) {
                                         *answer = Refuse(changed.error());
                                       } else {
                                         *answer = RefuseOfStore(state_.table(), changed.error());
                                       }
                                     });
  if (auto stored = AwaitStored(&state_.table(), &lock, asked); !stored) {
    return std::unexpected(stored.error());
  }
  return *answer;
}

ApiResult<rest::JobChange> EmbeddedSweeps::AwaitSweep(const ObjectName& sweep, std::int64_t after,
                                                      std::chrono::milliseconds timeout) {
  Lock lock(state_.mutex());
  const auto is_there = [&] {
    const SweepEntry* entry = table().Find(sweep.name_space, sweep.name);
    return state_.is_stopping() || entry == nullptr || entry->version > after;
  };
  state_.AwaitChange(&lock, timeout, is_there);
  const auto entry = Get(sweep);
  if (!entry) return std::unexpected(entry.error());
  json object = SweepTable::Render(**entry);
  const bool over = sweep::IsSweepOver(object);
  if (state_.is_stopping() && !over) {
    return Refuse(ErrorCode::kUnavailable, "the controller is being stopped");
  }
  return rest::JobChange{std::move(object), (*entry)->version, over};
}

ApiResult<rest::ListChange> EmbeddedSweeps::AwaitSweeps(const std::string& name_space,
                                                        std::int64_t after, std::size_t known,
                                                        std::chrono::milliseconds timeout) {
  return AwaitList(
      &state_, [&]() -> const auto& { return table().all(); }, name_space, after, known, timeout,
      [](const SweepEntry& entry) { return sweep::SweepSummaryOf(SweepTable::Render(entry)); });
}

}  // namespace eidolon::controller::embedded
