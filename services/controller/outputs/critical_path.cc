#include "services/controller/outputs/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "services/base/text.h"
#include "services/contract/critical_path/trace_file.h"

namespace eidolon::controller::outputs {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

base::Result<std::vector<std::byte>> ReadFile(const std::string& path, std::uintmax_t size) {
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file) return bytes;
  return Fail(ErrorCode::kInternal, StrCat("cannot read ", path));
}

}  // namespace

base::Result<critical_path::Summary> FindCriticalPath(const std::vector<std::string>& files,
                                                      std::uintmax_t bytes_max) {
  std::vector<std::uintmax_t> sizes;
  std::uintmax_t total = 0;
  for (const std::string& path : files) {
    std::error_code error;
    sizes.push_back(std::filesystem::file_size(path, error));
    if (error) return Fail(ErrorCode::kInternal, StrCat("cannot read ", path));
    total += sizes.back();
  }
  if (total > bytes_max) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("its traces have ", total, " bytes, more than the ", bytes_max,
                       " that are read; show fewer operations by outputs.timeline.operations"));
  }
  std::vector<critical_path::RankTrace> traces;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto bytes = ReadFile(files[i], sizes[i]);
    if (!bytes) return std::unexpected(bytes.error());
    auto parsed = critical_path::Parse(*bytes);
    if (!parsed) return std::unexpected(parsed.error());
    for (critical_path::RankTrace& trace : *parsed) traces.push_back(std::move(trace));
  }
  if (traces.empty()) return Fail(ErrorCode::kNotFound, "no rank has a trace");
  // Of ranks that end together the first is followed, whichever process came first.
  std::ranges::stable_sort(traces, {}, &critical_path::RankTrace::rank);
  return critical_path::Summarise(traces);
}

}  // namespace eidolon::controller::outputs
