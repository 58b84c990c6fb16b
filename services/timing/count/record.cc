// EachNumber and EachWhole are the only lists of fields: writing and reading visit the same one, so
// a field cannot be written and then missed. Numbers are written with 17 digits, with which a
// double comes back as it was. When a count changes its meaning, the number in the first line has
// to rise, or old records would be taken for new ones. Records come from a folder in which other
// processes write, so the size of the text, signs and the range of whole numbers are checked, and
// growth.cc bounds what it allocates by them.
#include "services/timing/count/record.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::count {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// Counts changes of what is counted: records of other versions are counted again.
constexpr std::string_view kFirstLine = "eidolon kernel counts 10";
constexpr std::size_t kMostBytes = 256 << 10;

// Every number of a record by name; a reference into it.
template <typename R, typename Visit>
void EachNumber(R& record, Visit&& visit) {
  auto& block = record.counts.block;
  for (std::size_t i = 0; i < kPipes; ++i) visit(StrCat("issued_", i), block.issued[i]);
  for (std::size_t i = 0; i < kMatrixTypes; ++i) {
    visit(StrCat("matrix_", i), block.matrix_operations[i]);
  }
  visit("group_matrix", block.group_matrix_operations);
  visit("lane_operations", block.lane_operations);
  visit("matrix_warps", block.matrix_warps);
  visit("shared_wavefronts", block.shared_wavefronts);
  visit("line_requests", block.line_requests);
  visit("missed_lines", block.missed_lines);
  visit("missed_sectors", block.missed_sectors);
  visit("again_sectors", block.again_sectors);
  visit("again_distance", block.again_distance);
  visit("first_sectors", block.first_sectors);
  visit("engine_bytes", block.engine_bytes);
  visit("atomics", block.atomics);
  visit("colliding_atomics", block.colliding_atomics);
  visit("atomic_rounds", block.atomic_rounds);
  visit("barriers", block.barriers);
  visit("code_lines", block.code_lines);
  visit("clocks", block.clocks);
  visit("far_clocks", block.far_clocks);
  visit("blocks", record.counts.blocks);
  visit("warps", record.counts.warps);
  visit("resident_blocks", record.counts.resident_blocks);
  visit("bytes_read", record.counts.bytes_read);
  visit("bytes_written", record.counts.bytes_written);
  visit("bytes_at_once", record.counts.bytes_at_once);
  visit("atomic_bytes_at_once", record.counts.atomic_bytes_at_once);
  visit("bytes_in_order", record.counts.bytes_in_order);
  visit("longest_clocks", record.counts.longest_clocks);
  visit("longest_far_clocks", record.counts.longest_far_clocks);
  visit("growth_first", record.counts.growth.first);
  visit("growth_last", record.counts.growth.last);
  visit("growth_steps", record.counts.growth.steps);
  visit("growth_period", record.counts.growth.period);
  visit("code_lines_of_all", record.counts.code_lines);
  visit("sampled_blocks", record.counts.sampled_blocks);
  visit("passed_over", record.counts.passed_over);
}

template <typename R, typename Visit>
void EachWhole(R& record, Visit&& visit) {
  visit("grid_x", record.grid.x);
  visit("grid_y", record.grid.y);
  visit("grid_z", record.grid.z);
  visit("block_x", record.block.x);
  visit("block_y", record.block.y);
  visit("block_z", record.block.z);
  visit("shared_bytes", record.shared_bytes);
  visit("registers", record.registers);
}

}  // namespace

std::string FormatRecord(const Record& record) {
  std::string text = StrCat(kFirstLine, "\nname ", record.name, "\ngpu ", record.gpu, "\n");
  EachWhole(record, [&](const std::string& name, std::uint32_t number) {
    text += StrCat(name, " ", number, "\n");
  });
  EachNumber(record, [&](const std::string& name, double number) {
    std::array<char, 40> digits{};
    std::snprintf(digits.data(), digits.size(), "%.17g", number);
    text += StrCat(name, " ", std::string_view(digits.data()), "\n");
  });
  text += StrCat("depends_on_memory ", record.counts.depends_on_memory ? 1 : 0, "\n");
  return text;
}

base::Result<Record> ParseRecord(std::string_view text) {
  if (text.size() > kMostBytes) {
    return Fail(ErrorCode::kCorrupt, StrCat("longer than ", kMostBytes, " bytes"));
  }
  std::map<std::string_view, std::string_view> fields;
  bool first = true;
  for (const std::string_view line : base::Split(text, '\n')) {
    if (first && line != kFirstLine) {
      return Fail(ErrorCode::kCorrupt, StrCat("line 1: not '", kFirstLine, "'"));
    }
    const std::size_t space = line.find(' ');
    if (!first && space != std::string_view::npos) {
      fields[line.substr(0, space)] = line.substr(space + 1);
    }
    first = false;
  }
  std::optional<std::string> problem;
  const auto numbered = [&](const std::string& name) -> double {
    const auto found = fields.find(name);
    const auto number = found == fields.end() ? std::nullopt : base::ParseNumber(found->second);
    if (!number || !std::isfinite(*number) || *number < 0) {
      problem = StrCat("'", name, "' is missing or is not a number from 0 on");
      return 0;
    }
    return *number;
  };
  Record record;
  record.name = fields["name"];
  record.gpu = fields["gpu"];
  EachNumber(record, [&](const std::string& name, double& to) { to = numbered(name); });
  EachWhole(record, [&](const std::string& name, std::uint32_t& to) {
    const double number = numbered(name);
    if (number > 0xffffffffu) {
      problem = StrCat("'", name, "' is too large");
    } else {
      to = static_cast<std::uint32_t>(number);
    }
  });
  record.counts.depends_on_memory = numbered("depends_on_memory") != 0;
  if (problem) return Fail(ErrorCode::kCorrupt, *problem);
  return record;
}

}  // namespace eidolon::timing::count
