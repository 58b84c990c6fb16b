// A copy of all objects of one kind, kept up to date by a thread: list, then watch, and list again
// when the server has forgotten where we were. Watches are hints: who is told of a change looks at
// the copy.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "services/controller/kube/client.h"

namespace eidolon::controller::kube {

struct InformerOptions {
  Resource resource;
  std::string name_space;  // Empty: all.
  std::string selector;    // Of labels; empty: all objects.
};

using ObjectPointer = std::shared_ptr<const nlohmann::json>;

// Thread safe. The client must outlive it.
class Informer {
 public:
  // Called from the informer's thread after an object was added, changed or removed, with its last
  // known state.
  using OnChange = std::function<void(const nlohmann::json& object)>;

  Informer(InformerOptions options, Client* client, OnChange on_change);
  ~Informer();  // Stops.

  void Start();
  void Stop();
  // Returns whether the first list has arrived.
  bool IsSynced() const { return synced_.load(); }

  // Nothing when there is no such object.
  ObjectPointer Find(const ObjectKey& key) const;
  std::vector<ObjectPointer> List() const;
  // Those that `wanted` accepts.
  std::vector<ObjectPointer> List(
      const std::function<bool(const nlohmann::json& object)>& wanted) const;
  // Lists since the start: 1 in a quiet life.
  int lists() const { return lists_.load(); }

 private:
  void Run();
  Answer<void> ListAll();
  Answer<void> FollowOnce();
  void Store(const std::string& type, nlohmann::json object);

  const InformerOptions options_;
  Client& client_;
  const OnChange on_change_;
  std::string resource_version_;  // Of the thread.
  std::unique_ptr<Client::Watch> watch_;
  std::thread thread_;
  std::atomic<bool> synced_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> lists_ = 0;
  mutable std::mutex mutex_;  // Guards what follows.
  std::map<ObjectKey, ObjectPointer> objects_;
};

}  // namespace eidolon::controller::kube
