#include <algorithm>
#include <cmath>
#include <map>

#include "services/base/hex.h"
#include "services/base/text.h"
#include "services/timing/profile/profile.h"

namespace eidolon::timing::profile {
namespace {

using base::StrCat;

double Change(const std::pair<ProfileRow, ProfileRow>& rows) {
  const double left = rows.first.median.Seconds();
  return left > 0 ? std::abs(rows.second.median.Seconds() / left - 1) : 0;
}

std::string Line(char sign, const ProfileRow& row) {
  return StrCat(std::string(1, sign), " ", base::Hex(row.key), " ", row.median.ps, " ps x",
                row.repetitions, "\n");
}

}  // namespace

base::Result<ProfileDiff> DiffProfiles(const Profile& left, const Profile& right) {
  if (left.gpu != right.gpu) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      StrCat("profiles of '", left.gpu, "' and '", right.gpu,
                             "' cannot be compared: they are of different GPU models"));
  }
  std::map<base::Digest, ProfileRow> others;
  for (const ProfileRow& row : right.rows) others[row.key] = row;
  std::map<base::Digest, ProfileRow> own;
  for (const ProfileRow& row : left.rows) own[row.key] = row;
  ProfileDiff diff;
  for (const auto& [key, row] : own) {
    const auto other = others.find(key);
    if (other == others.end()) {
      diff.only_left.push_back(row);
    } else if (other->second.median == row.median) {
      ++diff.equal;
    } else {
      diff.changed.emplace_back(row, other->second);
    }
  }
  for (const auto& [key, row] : others) {
    if (!own.contains(key)) diff.only_right.push_back(row);
  }
  std::stable_sort(diff.changed.begin(), diff.changed.end(),
                   [](const auto& a, const auto& b) { return Change(a) > Change(b); });
  return diff;
}

std::string FormatDiff(const ProfileDiff& diff) {
  std::string text;
  for (const auto& [left, right] : diff.changed) text += Line('<', left) + Line('>', right);
  for (const ProfileRow& row : diff.only_left) text += Line('-', row);
  for (const ProfileRow& row : diff.only_right) text += Line('+', row);
  return text + StrCat(diff.equal, " equal, ", diff.changed.size(), " changed, ",
                       diff.only_left.size(), " removed, ", diff.only_right.size(), " added\n");
}

}  // namespace eidolon::timing::profile
