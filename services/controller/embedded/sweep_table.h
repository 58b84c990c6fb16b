// The sweeps a controller knows, in memory, and their rows in the store. A sweep is shown when it
// is stored; its status may be shown before, as it follows from that of its jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/store/job_store.h"
#include "services/controller/store/store_writer.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::embedded {

struct SweepEntry {
  std::int64_t uid = 0;
  std::string name_space;
  std::string name;
  std::int64_t created_unix_ns = 0;
  std::int64_t version = 0;  // Grows with every visible change, also across restarts.
  nlohmann::json document;   // apiVersion, kind, metadata and spec; a deletionTimestamp too.
  nlohmann::json status;
  sweep::SweepSpec spec;
  bool changing = false;  // A change of the document is being stored.
  bool removing = false;  // So is its end.
  std::string damage;     // Of its stored record; it is shown and can be deleted only.

  bool is_unwanted() const { return document["metadata"].contains("deletionTimestamp"); }
};

// Guarded by the lock of the table of jobs, whose writer it uses: what it is given as `then` is
// called with it.
class SweepTable {
 public:
  using Asked = base::Result<std::shared_ptr<store::Ticket>>;

  explicit SweepTable(const base::RealClock& clock) : clock_(clock) {}
  SweepTable(const SweepTable&) = delete;
  SweepTable& operator=(const SweepTable&) = delete;

  // Call once, first. The writer must outlive it, or be closed.
  // `folder`: the data folder, for messages about damaged records.
  void Load(const std::vector<store::StoredSweep>& rows, store::StoreWriter* writer,
            const std::string& folder);

  SweepEntry* Find(std::int64_t uid);
  SweepEntry* Find(const std::string& name_space, const std::string& name);
  // Returns sweeps by uid: in order of creation.
  const std::map<std::int64_t, SweepEntry>& all() const { return sweeps_; }

  std::int64_t last_version() const { return last_version_; }

  Asked Create(const std::string& name_space, const sweep::ParsedSweep& parsed,
               const nlohmann::json& document,
               std::function<void(const base::Result<SweepEntry*>&)> then);
  // Another document; its spec counts once it is stored. kNotFound: the sweep was deleted
  // meanwhile.
  Asked Replace(SweepEntry* sweep, nlohmann::json document,
                std::function<void(const base::Result<SweepEntry*>&)> then);
  void SetStatus(SweepEntry* sweep, nlohmann::json status);
  // Somebody wants it deleted; it stays until Remove.
  void MarkUnwanted(SweepEntry* sweep);
  // The sweep is gone when that is stored.
  void Remove(SweepEntry* sweep, std::function<void()> then);
  // The complete document.
  static nlohmann::json Render(const SweepEntry& sweep);

 private:
  void ShowDamaged(const store::StoredSweep& row, const std::string& damage,
                   const std::string& folder);
  void Save(SweepEntry* sweep, const std::string& what);
  std::int64_t NextVersion();

  const base::RealClock& clock_;
  store::StoreWriter* writer_ = nullptr;
  std::int64_t last_version_ = 0;
  std::map<std::int64_t, SweepEntry> sweeps_;
};

}  // namespace eidolon::controller::embedded
