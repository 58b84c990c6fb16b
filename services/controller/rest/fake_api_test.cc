#include "services/controller/rest/fake_api_test.h"

#include <algorithm>
#include <chrono>

namespace eidolon::controller::rest {

using nlohmann::json;

namespace {

std::unexpected<ApiError> Missing(const std::string& name) {
  return std::unexpected(ApiError{base::ErrorCode::kNotFound, "no job '" + name + "'", {}});
}

}  // namespace

json FakeApi::Render(const Job& job) const {
  json object = job.document;
  object["metadata"]["resourceVersion"] = std::to_string(job.version);
  return object;
}

void FakeApi::SetPhase(const std::string& name, const std::string& phase, bool over) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_[name];
  job.document["status"]["phase"] = phase;
  job.over = over;
  ++job.version;
  changed_.notify_all();
}

void FakeApi::SetPrediction(const std::string& name, const nlohmann::json& prediction) {
  const std::lock_guard lock(mutex_);
  jobs_[name].document["status"]["prediction"] = prediction;
}

void FakeApi::AddLine(const std::string& text) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(text);
  changed_.notify_all();
}

void FakeApi::EndLog() {
  const std::lock_guard lock(mutex_);
  log_ended_ = true;
  changed_.notify_all();
}

ApiResult<Created> FakeApi::CreateJob(const std::string&, const json& document,
                                      const std::optional<IdempotencyKey>& key, const Writer&) {
  const std::lock_guard lock(mutex_);
  if (!document.contains("metadata")) {
    return std::unexpected(ApiError{base::ErrorCode::kInvalidArgument,
                                    "the simulation job has 2 problem(s)",
                                    {{"/metadata", "is required"}, {"/spec", "is required"}}});
  }
  const std::string name = document["metadata"]["name"];
  if (jobs_.contains(name) && key) return Created{Render(jobs_[name]), true};
  if (jobs_.contains(name)) {
    return std::unexpected(
        ApiError{base::ErrorCode::kAlreadyExists, "'" + name + "' exists already", {}});
  }
  jobs_[name].document = document;
  return Created{Render(jobs_[name]), false};
}

ApiResult<std::vector<json>> FakeApi::ListJobs(const std::string&) {
  const std::lock_guard lock(mutex_);
  std::vector<json> list;
  for (const auto& [name, job] : jobs_) list.push_back(Render(job));
  return list;
}

ApiResult<json> FakeApi::GetJob(const ObjectName& job) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(job.name)) return Missing(job.name);
  return Render(jobs_[job.name]);
}

ApiResult<json> FakeApi::DeleteJob(const ObjectName& job, const Writer&) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(job.name)) return Missing(job.name);
  json object = Render(jobs_[job.name]);
  jobs_.erase(job.name);
  changed_.notify_all();
  return object;
}

ApiResult<json> FakeApi::SetSuspend(const ObjectName& job, bool suspend, const Writer&) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(job.name)) return Missing(job.name);
  jobs_[job.name].document["spec"]["suspend"] = suspend;
  return Render(jobs_[job.name]);
}

ApiResult<JobChange> FakeApi::AwaitChange(const ObjectName& job, std::int64_t after,
                                          std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout,
                    [&] { return !jobs_.contains(job.name) || jobs_[job.name].version > after; });
  if (!jobs_.contains(job.name)) return Missing(job.name);
  const Job& found = jobs_[job.name];
  return JobChange{Render(found), found.version, found.over};
}

ApiResult<Output> FakeApi::FindTimeline(const ObjectName& job, const std::string& /*token*/) {
  if (timeline_.empty()) {
    return std::unexpected(ApiError{.code = base::ErrorCode::kNotFound,
                                    .message = "job '" + job.name + "' has no timeline",
                                    .problems = {}});
  }
  return Output{.path = timeline_, .copy = std::exchange(copy_, nullptr)};
}

ApiResult<ListChange> FakeApi::AwaitJobs(const std::string&, std::int64_t after, std::size_t known,
                                         std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto is_new = [&](const auto& row) { return row.second.version > after; };
  changed_.wait_for(lock, timeout,
                    [&] { return jobs_.size() != known || std::ranges::any_of(jobs_, is_new); });
  ListChange change = {.changed = {}, .present = {}, .version = after};
  for (const auto& [name, job] : jobs_) {
    change.present.insert("default/" + name);
    if (job.version <= after) continue;
    change.version = std::max(change.version, job.version);
    change.changed.push_back(Render(job));
    change.changed.back()["metadata"]["namespace"] = "default";
  }
  return change;
}

ApiResult<LogPart> FakeApi::ReadLog(const ObjectName&, std::uint64_t offset,
                                    std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return lines_.size() > offset || log_ended_; });
  LogPart part = {.entries = {}, .next_offset = lines_.size(), .ended = false};
  for (std::size_t i = offset; i < lines_.size(); ++i) {
    part.entries.push_back({.server = 1, .virtual_ps = 1'500'000'000'000, .text = lines_[i]});
  }
  part.ended = log_ended_ && part.entries.empty();
  return part;
}

ApiResult<json> FakeApi::CreateCluster(const std::string&, const json& document, const Writer&) {
  return document;
}

ApiResult<json> FakeApi::GetCluster(const ObjectName& cluster) { return Missing(cluster.name); }

ApiResult<json> FakeApi::DeleteCluster(const ObjectName& cluster, const Writer&) {
  return Missing(cluster.name);
}

ApiResult<json> FakeSweepApi::CreateSweep(const std::string&, const json& document, const Writer&) {
  const std::lock_guard lock(mutex_);
  const std::string name = document["metadata"]["name"];
  json& sweep = sweeps_[name] = document;
  changed_.notify_all();
  sweep["metadata"]["resourceVersion"] = "1";
  return sweep;
}

ApiResult<std::vector<json>> FakeSweepApi::ListSweeps(const std::string&) {
  const std::lock_guard lock(mutex_);
  std::vector<json> list;
  for (const auto& [name, sweep] : sweeps_) list.push_back(sweep);
  return list;
}

ApiResult<json> FakeSweepApi::GetSweep(const ObjectName& sweep) {
  const std::lock_guard lock(mutex_);
  if (!sweeps_.contains(sweep.name)) return Missing(sweep.name);
  return sweeps_[sweep.name];
}

ApiResult<json> FakeSweepApi::DeleteSweep(const ObjectName& sweep, const Writer&) {
  const std::lock_guard lock(mutex_);
  if (!sweeps_.contains(sweep.name)) return Missing(sweep.name);
  json object = sweeps_[sweep.name];
  sweeps_.erase(sweep.name);
  changed_.notify_all();
  object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  return object;
}

ApiResult<JobChange> FakeSweepApi::AwaitSweep(const ObjectName& sweep, std::int64_t,
                                              std::chrono::milliseconds) {
  const auto found = GetSweep(sweep);
  if (!found) return std::unexpected(found.error());
  return JobChange{*found, 1, true};
}

ApiResult<json> FakeSweepApi::PatchSweep(const ObjectName& sweep, const json& patch,
                                         const Writer&) {
  const std::lock_guard lock(mutex_);
  if (!sweeps_.contains(sweep.name)) return Missing(sweep.name);
  sweeps_[sweep.name].merge_patch(patch);
  sweeps_[sweep.name]["metadata"]["resourceVersion"] = std::to_string(++version_);
  changed_.notify_all();
  return sweeps_[sweep.name];
}

ApiResult<ListChange> FakeSweepApi::AwaitSweeps(const std::string&, std::int64_t after,
                                                std::size_t known,
                                                std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [&] { return sweeps_.size() != known || version_ > after; });
  ListChange change = {.changed = {}, .present = {}, .version = version_};
  for (const auto& [name, sweep] : sweeps_) {
    change.present.insert("default/" + name);
    if (version_ > after) change.changed.push_back(sweep);
  }
  return change;
}

base::Result<void> FakeApi::CheckReady() {
  if (ready_) return {};
  return base::Fail(base::ErrorCode::kUnavailable, "the timing service is gone");
}

void FakeApi::CountRequest(const std::string& method, int status) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(method + " " + std::to_string(status));
}

void FakeApi::CountRefusal(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  ++refusals_[reason];
}

void FakeApi::SetConnections(std::size_t count) {
  const std::lock_guard lock(mutex_);
  connections_ = count;
  changed_.notify_all();
}

std::size_t FakeApi::AwaitConnections(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(20), [&] { return connections_ == count; });
  return connections_;
}

std::map<std::string, int> FakeApi::refusals() {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

std::vector<std::string> FakeApi::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace eidolon::controller::rest
