// Measured durations of one GPU model and where they come from; their form for exchange is JSON
// Lines: a header line, then a line for each row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/base/sim_time.h"

namespace eidolon::timing::profile {

struct ProfileRow {
  base::Digest key;        // kernel::WorkKey.
  base::Digest class_key;  // kernel::ClassKey.
  double size = 0;         // Orders the points of a class.
  base::Duration median;
  double spread = 0;  // Relative.
  std::uint32_t repetitions = 0;
};

struct Profile {
  std::string gpu;  // GPU model name.
  std::string driver;
  std::string cuda;
  std::string libraries;  // "cublas 13.4.1, cudnn 9.26".
  std::string clocks;     // As seen while measuring.
  std::string date;       // ISO 8601.
  std::string tool;       // Version of the measuring program.
  std::vector<ProfileRow> rows;
};

// Longest text that ParseProfile accepts.
inline constexpr std::size_t kProfileTextMax = std::size_t{1} << 30;

std::string FormatProfile(const Profile& profile);

// Names line and field of what is wrong: "line 3: 'median_ps' is missing".
base::Result<Profile> ParseProfile(std::string_view text);

// `more` on top of `base`; of rows with one key the one with more repetitions stays. Profiles of
// different GPU models are refused.
base::Result<Profile> MergeProfiles(const Profile& base, const Profile& more);

struct ProfileDiff {
  std::vector<ProfileRow> only_left;   // By key.
  std::vector<ProfileRow> only_right;  // By key.
  // Rows whose median changed, left and right, the largest relative change first.
  std::vector<std::pair<ProfileRow, ProfileRow>> changed;
  std::size_t equal = 0;

  bool same() const { return only_left.empty() && only_right.empty() && changed.empty(); }
};

// Profiles of different GPU models are refused.
base::Result<ProfileDiff> DiffProfiles(const Profile& left, const Profile& right);
// Lines like diff(1)'s, and a summary.
std::string FormatDiff(const ProfileDiff& diff);

}  // namespace eidolon::timing::profile
