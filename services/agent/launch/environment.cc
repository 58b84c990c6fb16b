// Launchers disagree about the names of the rendezvous variables (torchrun reads PET_*, scripts
// read MASTER_ADDR, NNODES or NODE_RANK), so each value is set under all of them. The order of
// LD_PRELOAD decides which library answers a symbol: those that must come first, the core, the
// facades, and the user's own ones last. Triton and NVTX find their libraries by variables of their
// own.
#include "services/agent/launch/environment.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::StrCat;

constexpr const char* kCore = "libeidolon_shim.so";

// Shared libraries in a folder, by name; none without the folder.
std::vector<std::string> Libraries(const fs::path& folder) {
  std::vector<std::string> libraries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".so") libraries.push_back(entry.path().string());
  }
  std::sort(libraries.begin(), libraries.end());
  return libraries;
}

base::Result<std::vector<std::string>> Facades(const fs::path& folder) {
  std::vector<std::string> facades = Libraries(folder);
  if (facades.empty()) {
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("the shim's facade libraries are missing in ", folder.string(),
                             ": build the target eidolon_facades"));
  }
  return facades;
}

void AddNumber(Variables* variables, const char* name, std::uint64_t value) {
  variables->emplace_back(name, std::to_string(value));
}

}  // namespace

base::Result<ShimLibraries> FindShim(const std::string& folder) {
  const fs::path root = fs::absolute(folder);
  const fs::path core = root / kCore;
  if (!fs::exists(core)) {
    return base::Fail(ErrorCode::kNotFound, StrCat("the shim ", core.string(),
                                                   " is missing: build the target eidolon_shim"));
  }
  auto facades = Facades(root / "eidolon");
  if (!facades) return std::unexpected(facades.error());
  const fs::path triton = root / "eidolon" / "triton";
  if (!fs::exists(triton / "libcuda.so.1")) {
    return base::Fail(ErrorCode::kNotFound,
                      StrCat((triton / "libcuda.so.1").string(), " is missing: build the target ",
                             "eidolon_facades"));
  }
  ShimLibraries shim{.core = core.string(),
                     .preload = Libraries(root / "eidolon" / "first"),
                     .triton_folder = triton.string(),
                     .folded = Libraries(root / "eidolon" / "folded")};
  shim.preload.push_back(shim.core);
  shim.preload.insert(shim.preload.end(), facades->begin(), facades->end());
  return shim;
}

Variables ServerEnvironment(const ShimLibraries& shim, const ServerPlace& place,
                            const std::string& inherited_preload) {
  std::string preload = base::Join(shim.preload, ":");
  if (!inherited_preload.empty()) preload += ":" + inherited_preload;
  Variables variables = {
      {"LD_PRELOAD", preload},
      {"EIDOLON_RUN_DIR", place.run_directory},
      {"EIDOLON_INDEX_DIR", place.index_directory},
      {"TRITON_LIBCUDA_PATH", shim.triton_folder},
      {"TRITON_CUPTI_LIB_PATH", shim.triton_folder},  // Its profiler brings a CUPTI of its own.
      {"TRITON_CUPTI_LIB_BLACKWELL_PATH", shim.triton_folder},
      {"NVTX_INJECTION64_PATH", shim.core},  // Named ranges become records.
      {"MASTER_ADDR", place.master_address},
      {"PET_MASTER_ADDR", place.master_address},
  };
  for (const char* name : {"MASTER_PORT", "PET_MASTER_PORT"}) {
    AddNumber(&variables, name, place.master_port);
  }
  for (const char* name : {"NNODES", "PET_NNODES"}) AddNumber(&variables, name, place.servers);
  for (const char* name : {"NODE_RANK", "PET_NODE_RANK", "GROUP_RANK"}) {
    AddNumber(&variables, name, place.server);
  }
  for (const char* name : {"NPROC_PER_NODE", "PET_NPROC_PER_NODE"}) {
    AddNumber(&variables, name, place.ranks_per_server);
  }
  return variables;
}

}  // namespace eidolon::agent::launch
