// A watch may end at any time, and events are lost while none is open. The informer then goes on
// from the last resourceVersion it has seen; bookmarks keep that recent where nothing changes. Only
// if the server has forgotten that version (410 Gone) everything is listed again, and the
// difference to the copy shows which changes and removals were missed. So a listener may miss
// intermediate states, and has to act by the copy and not by the event. managedFields, which
// nothing here reads, are dropped to save memory. Only the thread uses resource_version_.
#include "services/controller/kube/informer.h"

#include "services/base/log.h"
#include "services/base/random.h"

namespace eidolon::controller::kube {
namespace {

using nlohmann::json;

constexpr int kWatchSecondsMin = 300;
constexpr std::uint64_t kWatchSecondsSpread = 300;
constexpr std::chrono::milliseconds kBackoffMin(100);
constexpr std::chrono::milliseconds kBackoffMax(5000);
constexpr std::chrono::milliseconds kVirtualSleep(50);

}  // namespace

Informer::Informer(InformerOptions options, Client* client, OnChange on_change)
    : options_(std::move(options)),
      client_(*client),
      on_change_(std::move(on_change)),
      watch_(std::make_unique<Client::Watch>(client)) {}

Informer::~Informer() { Stop(); }

void Informer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Informer::Stop() {
  stopping_ = true;
  watch_->Cancel();
  if (thread_.joinable()) thread_.join();
}

void Informer::Run() {
  std::chrono::milliseconds backoff = kBackoffMin;
  bool listed = false;
  while (!stopping_) {
    const Answer<void> done = listed ? FollowOnce() : ListAll();
    if (done) {
      listed = true;
      backoff = kBackoffMin;
      continue;
    }
    const Refusal& refusal = done.error();
    if (refusal.IsGone() || refusal.reason == "Expired") {
      listed = false;
      continue;
    }
    base::Log(base::Level::kWarning, "kubernetes_watch_failed",
              {{"resource", std::string(options_.resource.plural)}, {"reason", refusal.message}});
    for (auto left = backoff; left.count() > 0 && !stopping_; left -= kVirtualSleep) {
      std::this_thread::sleep_for(kVirtualSleep);
    }
    backoff = std::min(backoff * 2, kBackoffMax);
  }
}

Answer<void> Informer::ListAll() {
  auto page = client_.List(options_.resource, options_.name_space, options_.selector);
  if (!page) return std::unexpected(page.error());
  ++lists_;
  resource_version_ = page->resource_version;
  std::map<ObjectKey, ObjectPointer> fresh;
  for (json& item : page->items) {
    item["metadata"].erase("managedFields");
    const ObjectKey key = KeyOf(item);
    fresh[key] = std::make_shared<const json>(std::move(item));
  }
  std::vector<ObjectPointer> changed;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, old] : objects_) {
      if (!fresh.contains(key)) changed.push_back(old);
    }
    for (const auto& [key, object] : fresh) {
      const auto old = objects_.find(key);
      if (old == objects_.end() || *old->second != *object) changed.push_back(object);
    }
    objects_ = std::move(fresh);
  }
  synced_ = true;
  for (const ObjectPointer& object : changed) on_change_(*object);
  return {};
}

Answer<void> Informer::FollowOnce() {
  // Watches of many controllers must not end together.
  base::Random random(base::Hash64(resource_version_.data(), resource_version_.size()));
  const std::chrono::seconds timeout(kWatchSecondsMin + random.Below(kWatchSecondsSpread));
  return watch_->Follow(options_.resource, options_.name_space, options_.selector,
                        resource_version_, timeout, [this](const std::string& type, json object) {
                          Store(type, std::move(object));
                          return !stopping_.load();
                        });
}

void Informer::Store(const std::string& type, json object) {
  json& metadata = object["metadata"];
  resource_version_ = metadata.value("resourceVersion", resource_version_);
  if (type == "BOOKMARK") return;
  metadata.erase("managedFields");
  const ObjectKey key = KeyOf(object);
  const auto stored = std::make_shared<const json>(std::move(object));
  {
    const std::lock_guard lock(mutex_);
    if (type == "DELETED") {
      objects_.erase(key);
    } else {
      objects_[key] = stored;
    }
  }
  on_change_(*stored);
}

ObjectPointer Informer::Find(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPointer> Informer::List() const {
  return List([](const json&) { return true; });
}

std::vector<ObjectPointer> Informer::List(
    const std::function<bool(const json& object)>& wanted) const {
  std::vector<ObjectPointer> list;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, object] : objects_) {
    if (wanted(*object)) list.push_back(object);
  }
  return list;
}

}  // namespace eidolon::controller::kube
