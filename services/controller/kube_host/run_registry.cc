#include "services/controller/kube_host/run_registry.h"

#include <utility>

namespace eidolon::controller::kube_host {

std::shared_ptr<KubeRun> RunRegistry::View::Find(const std::string& uid) const {
  const auto found = registry_.runs_.find(uid);
  return found == registry_.runs_.end() ? nullptr : found->second;
}

std::shared_ptr<KubeRun> RunRegistry::View::Find(agents::AgentName agent) const {
  const auto found = registry_.handles_.find(agent.job_uid);
  return found == registry_.handles_.end() ? nullptr : found->second;
}

std::shared_ptr<KubeRun> RunRegistry::View::FindPlaced(const std::string& name_space,
                                                       const std::string& placed_uid) const {
  for (const auto& [uid, run] : registry_.runs_) {
    if (placed_uid.empty() || run->placed_uid != placed_uid) continue;
    if (run->key.name_space == name_space) return run;
  }
  return nullptr;
}

void RunRegistry::View::Await(std::chrono::milliseconds limit) {
  registry_.changed_.wait_for(lock_, limit);
}

void RunRegistry::Add(std::shared_ptr<KubeRun> run) {
  const std::lock_guard lock(mutex_);
  run->handle = next_handle_++;
  handles_[run->handle] = run;
  runs_[run->uid] = std::move(run);
}

std::shared_ptr<KubeRun> RunRegistry::Take(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(uid);
  if (found == runs_.end()) return nullptr;
  std::shared_ptr<KubeRun> run = std::move(found->second);
  run->dropped = true;
  handles_.erase(run->handle);
  runs_.erase(found);
  changed_.notify_all();
  return run;
}

std::set<std::string> RunRegistry::Uids() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> uids;
  for (const auto& [uid, run] : runs_) uids.insert(uid);
  return uids;
}

std::vector<std::string> RunRegistry::UidsBut(const kube::ObjectKey& key, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> others;
  for (const auto& [own, run] : runs_) {
    if (run->key == key && own != uid) others.push_back(own);
  }
  return others;
}

bool RunRegistry::Close() {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  closed_ = true;
  changed_.notify_all();
  return true;
}

}  // namespace eidolon::controller::kube_host
