// Rows are held out by a hash of their sizes, as in gemm_kernels.cc, and of large tables the first
// 150 by that hash: the sample is then the same in every run and does not follow the order of a
// file. HeldOutKernels makes each table ready again without the rows that it is tested on. Errors
// are collected by phase, kernel and types over all head sizes, windows and distributions.
#include "services/timing/fit/kernel_errors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/timing/fit/errors.h"
#include "services/timing/model/published_kernels.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;
using model::KernelClass;
using model::KernelRows;
using model::KernelTable;
using model::PublishedKernel;
using model::PublishedKernels;

constexpr std::size_t kTestedMost = 150;  // Of a table.

// Returns what is told apart: phase, kernel and types.
std::string What(const KernelClass& kernel) {
  const std::string name = kernel.Name();
  const auto words = base::Split(name, ' ');
  std::string what = StrCat(words[0], " | ", words[1], " | ", words[2]);
  if (kernel.attention()) what += StrCat("/", words[3]);
  return what;
}

class Groups {
 public:
  struct Group {
    Errors errors;
    double stated = 0;
    std::size_t tables = 0;
  };

  Group& Of(const std::string& gpu, const std::string& what, const std::string& from) {
    return groups_[{gpu, what, from}];
  }

  std::vector<PublishedErrors> Result() const {
    std::vector<PublishedErrors> all;
    for (const auto& [key, group] : groups_) {
      const Errors& errors = group.errors;
      if (errors.size() == 0) continue;
      all.push_back({.gpu = std::get<0>(key),
                     .what = std::get<1>(key),
                     .from = std::get<2>(key),
                     .tables = group.tables,
                     .rows = errors.size(),
                     .mean = errors.Mean(),
                     .median = errors.Median(),
                     .p95 = errors.Percentile95(),
                     .bias = errors.Bias(),
                     .stated = group.stated / static_cast<double>(errors.size())});
    }
    return all;
  }

 private:
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups_;
};

std::vector<double> SizesOf(const KernelTable& table, std::size_t i) {
  const auto shape = table.Shape(i);
  return {shape.begin(), shape.end()};
}

std::uint64_t HashOf(const KernelTable& table, std::size_t i) {
  std::string text;
  for (const float size : table.Shape(i)) text += StrCat(std::llround(size), "x");
  return base::Hash64(text.data(), text.size());
}

// One in five by a hash of the sizes alone; of these the first by that hash.
std::vector<std::size_t> HeldOut(const KernelTable& table) {
  std::vector<std::pair<std::uint64_t, std::size_t>> held;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint64_t hash = HashOf(table, i);
    if (hash % 5 == 0) held.push_back({hash, i});
  }
  std::sort(held.begin(), held.end());
  std::vector<std::size_t> rows;
  for (const auto& [hash, i] : held) rows.push_back(i);
  return rows;
}

KernelTable Without(const KernelTable& table, const std::vector<std::size_t>& left_out) {
  std::vector<bool> out(table.size());
  for (const std::size_t i : left_out) out[i] = true;
  KernelTable rest = {.name = table.name, .columns = table.columns, .sizes = {}, .log_seconds = {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (out[i]) continue;
    const auto shape = table.Shape(i);
    rest.sizes.insert(rest.sizes.end(), shape.begin(), shape.end());
    rest.log_seconds.push_back(table.log_seconds[i]);
  }
  return rest;
}

double SecondsOf(const KernelTable& table, std::size_t i) {
  return std::exp(static_cast<double>(table.log_seconds[i]));
}

// Words of sizes, all above zero, as many as the class has.
std::optional<std::vector<double>> ParseSizes(const KernelClass& kernel, std::string_view text) {
  std::vector<double> sizes;
  for (const std::string_view word : base::Split(text, ' ')) {
    const auto size = base::ParseNumber(word);
    if (!size || !(*size > 0)) return std::nullopt;
    sizes.push_back(*size);
  }
  if (sizes.size() != kernel.columns()) return std::nullopt;
  return sizes;
}

}  // namespace

std::vector<PublishedErrors> HeldOutKernels(std::string_view family, std::string_view gpu) {
  Groups groups;
  for (const model::EmbeddedRows& file : model::EmbeddedKernelRows()) {
    if (file.type != family || (!gpu.empty() && file.gpu != gpu)) continue;
    const KernelRows rows = model::ReadEmbeddedKernels(file);
    for (const KernelTable& table : rows.tables) {
      const std::vector<std::size_t> held = HeldOut(table);
      const PublishedKernel kernel(RoofOf(rows), Without(table, held));
      Groups::Group& group = groups.Of(rows.gpu, What(kernel.kernel()), "other rows");
      ++group.tables;
      for (std::size_t i = 0; i < std::min(held.size(), kTestedMost); ++i) {
        const auto answer = kernel.Read(SizesOf(table, held[i]));
        group.errors.Add(answer.seconds, SecondsOf(table, held[i]));
        group.stated += answer.relative_error;
      }
    }
  }
  return groups.Result();
}

std::vector<PublishedErrors> CarriedKernels(const gpu_model::GpuCatalog& catalog,
                                            std::string_view family) {
  Groups groups;
  for (const model::EmbeddedRows& file : model::EmbeddedKernelRows()) {
    const auto gpu = catalog.Find(std::string(file.gpu));
    if (file.type != family || !gpu) continue;
    const KernelRows rows = model::ReadEmbeddedKernels(file);
    for (const KernelTable& table : rows.tables) {
      const KernelClass kernel = *model::ParseKernelClass(table.name);
      const std::vector<std::size_t> held = HeldOut(table);
      Groups::Group* group = nullptr;
      for (std::size_t i = 0; i < std::min(held.size(), kTestedMost); ++i) {
        const auto answer =
            PublishedKernels::Get().ReadCarried(**gpu, kernel, SizesOf(table, held[i]));
        if (!answer) break;
        if (group == nullptr) {
          group = &groups.Of(rows.gpu, What(kernel), answer->gpu);
          ++group->tables;
        }
        group->errors.Add(answer->time.seconds, SecondsOf(table, held[i]));
        group->stated += answer->time.relative_error;
      }
    }
  }
  return groups.Result();
}

base::Result<std::vector<PublishedErrors>> KernelsOfFile(const gpu_model::GpuCatalog& catalog,
                                                         std::string_view csv) {
  Groups groups;
  std::size_t line = 0;
  const auto fail = [&line](std::string_view what) {
    return base::Fail(base::ErrorCode::kInvalidArgument, StrCat("line ", line, ": ", what));
  };
  for (const std::string_view text : base::Split(csv, '\n')) {
    ++line;
    if (line == 1 || text.empty() || text.starts_with('#')) continue;
    const auto cells = base::Split(text, ',');
    if (cells.size() != 4) return fail("not 'gpu,kernel,sizes,microseconds'");
    const auto gpu = catalog.Find(std::string(cells[0]));
    if (!gpu) return std::unexpected(gpu.error());
    const auto kernel = model::ParseKernelClass(cells[1]);
    if (!kernel) return fail(StrCat("'", cells[1], "' is not a kernel"));
    const auto sizes = ParseSizes(*kernel, cells[2]);
    if (!sizes) return fail(StrCat("needs ", kernel->columns(), " sizes, not '", cells[2], "'"));
    const auto microseconds = base::ParseNumber(cells[3]);
    if (!microseconds || !(*microseconds > 0))
      return fail(StrCat("'", cells[3], "' is not a time"));
    auto answer = PublishedKernels::Get().Read(**gpu, *kernel, *sizes);
    if (!answer) answer = PublishedKernels::Get().ReadCarried(**gpu, *kernel, *sizes);
    if (!answer) {
      return fail(StrCat("no rows of '", kernel->kernel,
                         "'; see docs/reference/generated/kernel_times.md"));
    }
    Groups::Group& group = groups.Of((*gpu)->name, What(*kernel), StrCat("rows of ", answer->gpu));
    group.errors.Add(answer->time.seconds, *microseconds * 1e-6);
    group.stated += answer->time.relative_error;
  }
  return groups.Result();
}

std::string FormatPublished(const std::vector<PublishedErrors>& errors) {
  std::string text =
      "| GPU | phase | kernel | type | from | tables | rows | mean error | median | "
      "95th percentile | bias | stated |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const PublishedErrors& e : errors) {
    text += StrCat("| ", e.gpu, " | ", e.what, " | ", e.from, " | ", e.tables, " | ", e.rows, " | ",
                   Percent(e.mean), " | ", Percent(e.median), " | ", Percent(e.p95), " | ",
                   Percent(e.bias), " | ", Percent(e.stated), " |\n");
  }
  return text;
}

}  // namespace eidolon::timing::fit
