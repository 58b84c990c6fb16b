#include "shim/pytorch/gloo/group.h"

#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "services/base/text.h"

namespace eidolon::shim::gloo {
namespace {

struct Groups {
  std::mutex mutex;  // Guards everything below.
  std::unordered_map<const void*, std::shared_ptr<const Group>> by_object;
};

Groups& AllGroups() {
  static Groups* const groups = new Groups;  // Threads may outlive main.
  return *groups;
}

bool HasMirroredRanks(const folding::Fold& fold, const std::vector<folding::RankRun>& members) {
  for (const folding::RankRun& run : members) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      if (!fold.IsLive(run.first + i * run.step)) return true;
    }
  }
  return false;
}

}  // namespace

void EndJob(const std::string& sentence) {
  std::fprintf(stderr, "eidolon: folding: %s\n", sentence.c_str());
  std::fflush(stderr);
  std::abort();
}

Group::Group(const folding::Fold& fold, base::Result<std::vector<folding::RankRun>> members,
             bool is_pytorchs)
    : fold_(fold), members_(std::move(members)), is_pytorchs_(is_pytorchs) {
  if (members_.has_value()) has_mirrored_ranks_ = HasMirroredRanks(fold_, *members_);
}

const folding::Twins& Group::twins() const {
  const std::lock_guard guard(mutex_);
  if (twins_.has_value()) return *twins_;
  if (!members_) EndJob(members_.error().message);
  const auto members = folding::RanksOf(*members_, fold_.ranks());
  if (!members) EndJob(members.error().message);
  auto twins = folding::Twins::Of(fold_, *members);
  if (!twins) EndJob(base::StrCat("a Gloo group is used in which ", twins.error().message));
  twins_ = std::move(*twins);
  return *twins_;
}

std::uint32_t Group::GlobalOf(std::int32_t rank) const {
  auto before = static_cast<std::uint32_t>(rank);
  for (const folding::RankRun& run : members_.value_or(std::vector<folding::RankRun>())) {
    if (before < run.count) return run.first + before * run.step;
    before -= run.count;
  }
  return 0;
}

void KeepGroup(const void* object, std::shared_ptr<const Group> group) {
  Groups& groups = AllGroups();
  const std::lock_guard guard(groups.mutex);
  if (group == nullptr) {
    groups.by_object.erase(object);
  } else {
    groups.by_object[object] = std::move(group);
  }
}

std::shared_ptr<const Group> FindGroup(const void* object) {
  Groups& groups = AllGroups();
  const std::lock_guard guard(groups.mutex);
  const auto found = groups.by_object.find(object);
  return found == groups.by_object.end() ? nullptr : found->second;
}

}  // namespace eidolon::shim::gloo
