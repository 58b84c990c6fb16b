// Measured profiles in an SQLite file, kept in memory for look-up. A file that cannot be used
// (damaged, of another program, of another schema) is moved aside with a warning and a new one is
// started: a bad cache must never stop a prediction.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "services/base/error.h"
#include "services/timing/model/measurements.h"
#include "services/timing/profile/profile.h"

struct sqlite3;

namespace eidolon::timing::profile {

// Thread safe: many readers, one writer. One process writes a file at a time (SQLite's lock).
class ProfileCache : public model::Measurements {
 public:
  // `path` empty: in memory only. Fails only when the folder cannot be written.
  static base::Result<std::unique_ptr<ProfileCache>> Open(const std::string& path);
  ~ProfileCache() override;

  std::optional<model::Measurement> Find(const std::string& gpu, base::Digest key) const override;
  std::vector<model::Neighbour> Class(const std::string& gpu, base::Digest key) const override;

  // Adds the rows, all or none. A row with a known key replaces the old one.
  base::Result<void> Add(const Profile& profile);

  // Everything known of a GPU model, rows by key.
  Profile Export(const std::string& gpu) const;

  std::uint64_t row_count() const;

 private:
  struct DigestHash {
    std::size_t operator()(const base::Digest& d) const { return d.low; }
  };
  // Entries that are known of one GPU model.
  struct Entries {
    Profile header;  // Of the newest profile added; rows stay empty.
    std::unordered_map<base::Digest, ProfileRow, DigestHash> rows;
    std::unordered_map<base::Digest, std::map<double, base::Duration>, DigestHash> classes;
  };

  ProfileCache() = default;
  base::Result<void> Load();
  void Remember(const std::string& gpu, const ProfileRow& row);

  mutable std::shared_mutex tables_mutex_;  // Guards the file's writer too.
  sqlite3* file_ = nullptr;
  std::map<std::string, Entries> tables_;
};

}  // namespace eidolon::timing::profile
