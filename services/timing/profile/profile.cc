// Profiles travel between machines and versions, hence text with a line for each row: it can be
// merged, compared and shortened with common tools. The schema is that of work keys, because rows
// under other keys would be found by nothing. Fields remembers the first problem and gives zeros
// from there on, so that reading needs no branch for each field; no value may be used before
// problem() was asked. Numbers are bounded before they become integers.
#include "services/timing/profile/profile.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "services/base/hex.h"
#include "services/base/text.h"
#include "services/timing/kernel/work_key.h"

namespace eidolon::timing::profile {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using nlohmann::json;

// Reads the fields of one line and remembers the first that is wrong.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  std::string Text(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return Bad<std::string>(name, "is missing");
    if (!found->is_string()) return Bad<std::string>(name, "is not a text");
    return found->get<std::string>();
  }
  double Number(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return Bad<double>(name, "is missing");
    if (!found->is_number()) return Bad<double>(name, "is not a number");
    const double value = found->get<double>();
    if (!std::isfinite(value) || value < 0 || value > 9e18) {
      return Bad<double>(name, "is out of range");
    }
    return value;
  }
  base::Digest Key(const char* name) {
    const auto digest = base::ParseDigest(Text(name));
    return digest ? *digest : Bad<base::Digest>(name, "is not 32 hexadecimal digits");
  }
  const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  T Bad(const char* name, const char* what) {
    if (problem_.empty()) problem_ = StrCat("'", name, "' ", what);
    return {};
  }

  const json& object_;
  std::string problem_;
};

std::unexpected<base::Error> At(std::size_t line, std::string_view message) {
  return base::Fail(ErrorCode::kInvalidArgument, StrCat("line ", line, ": ", message));
}

Result<void> ReadHeader(const json& object, Profile& profile) {
  Fields fields(object);
  const double schema = fields.Number("eidolon_profile");
  profile.gpu = fields.Text("gpu");
  profile.driver = fields.Text("driver");
  profile.cuda = fields.Text("cuda");
  profile.libraries = fields.Text("libraries");
  profile.clocks = fields.Text("clocks");
  profile.date = fields.Text("date");
  profile.tool = fields.Text("tool");
  if (!fields.problem().empty()) return At(1, fields.problem());
  if (schema != kernel::kSchema) {
    return At(1,
              StrCat("schema ", schema, " is not ", kernel::kSchema, ", which this version reads"));
  }
  return {};
}

// A line has some hundred bytes; the header names libraries.
constexpr std::size_t kLineMax = 64u << 10;

Result<ProfileRow> ReadRow(const json& object, std::size_t line) {
  Fields fields(object);
  ProfileRow row;
  row.key = fields.Key("key");
  row.class_key = fields.Key("class");
  row.size = fields.Number("size");
  row.median = base::Duration{static_cast<std::int64_t>(fields.Number("median_ps"))};
  row.spread = fields.Number("spread");
  row.repetitions = static_cast<std::uint32_t>(std::min(fields.Number("repetitions"), 4e9));
  if (!fields.problem().empty()) return At(line, fields.problem());
  return row;
}

}  // namespace

std::string FormatProfile(const Profile& profile) {
  const json header = {{"eidolon_profile", kernel::kSchema},
                       {"gpu", profile.gpu},
                       {"driver", profile.driver},
                       {"cuda", profile.cuda},
                       {"libraries", profile.libraries},
                       {"clocks", profile.clocks},
                       {"date", profile.date},
                       {"tool", profile.tool}};
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (const ProfileRow& row : profile.rows) {
    const json line = {{"key", base::Hex(row.key)}, {"class", base::Hex(row.class_key)},
                       {"size", row.size},          {"median_ps", row.median.ps},
                       {"spread", row.spread},      {"repetitions", row.repetitions}};
    text += line.dump() + "\n";
  }
  return text;
}

Result<Profile> ParseProfile(std::string_view text) {
  if (text.size() > kProfileTextMax) {
    return base::Fail(ErrorCode::kInvalidArgument, "the profile is larger than 1 GiB");
  }
  Profile profile;
  std::size_t number = 0;
  bool header = true;
  for (const std::string_view line : base::Split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    if (line.size() > kLineMax) {
      return At(number, StrCat("a line of ", line.size(), " bytes; at most ", kLineMax));
    }
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return At(number, "not a JSON object");
    if (header) {
      if (auto done = ReadHeader(object, profile); !done) return std::unexpected(done.error());
      header = false;
      continue;
    }
    auto row = ReadRow(object, number);
    if (!row) return std::unexpected(row.error());
    profile.rows.push_back(*row);
  }
  if (header) return At(1, "the header is missing");
  return profile;
}

Result<Profile> MergeProfiles(const Profile& base, const Profile& more) {
  if (base.gpu != more.gpu) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("profiles of '", base.gpu, "' and '", more.gpu,
                             "' cannot be merged: they are of different GPU models"));
  }
  std::map<base::Digest, ProfileRow> rows;
  for (const ProfileRow& row : base.rows) rows[row.key] = row;
  for (const ProfileRow& row : more.rows) {
    const auto [at, added] = rows.emplace(row.key, row);
    if (!added && row.repetitions >= at->second.repetitions) at->second = row;
  }
  Profile merged = more;
  merged.rows.clear();
  for (const auto& [key, row] : rows) merged.rows.push_back(row);
  return merged;
}

}  // namespace eidolon::timing::profile
