// Flags become a document, and the controller alone checks it: a limit that was also here could
// differ from it. A flag that was not given is left out of the document, so the defaults are those
// of the controller as well. Only the cluster gets defaults here: one server with a GPU for each of
// its ranks. Paths are made absolute where the command runs, since the controller may run in
// another folder. A FIFO is refused as a file, as opening one waits for a writer.
#include "services/cli/run_document.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/controller/job/document.h"
#include "services/controller/job/metadata.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using nlohmann::json;

constexpr char kDefaultGpu[] = "H100-SXM5-80GB";

json MakeCluster(const RunFlags& flags) {
  json server = json::object();
  if (!flags.preset.empty()) server["preset"] = flags.preset;
  if (!flags.gpu.empty()) server["gpu"] = flags.gpu;
  if (server.empty()) server["gpu"] = kDefaultGpu;
  if (flags.gpu_clock > 0) server["gpuClock"] = flags.gpu_clock;
  if (flags.gpus_per_server > 0) {
    server["gpusPerServer"] = flags.gpus_per_server;
  } else if (flags.preset.empty()) {
    server["gpusPerServer"] = flags.ranks_per_server > 0 ? flags.ranks_per_server : 1;
  }
  return {{"servers", flags.servers > 0 ? flags.servers : 1}, {"server", server}};
}

}  // namespace

void AnchorCodeDirectory(json* document, const std::string& folder) {
  const auto pointer = json::json_pointer("/spec/code/directory");
  if (!document->is_object() || !document->contains(pointer)) return;
  json& directory = (*document)[pointer];
  if (!directory.is_string()) return;
  const std::filesystem::path path = directory.get<std::string>();
  if (path.empty() || path.is_absolute()) return;
  directory =
      (std::filesystem::absolute(folder.empty() ? "." : folder) / path).lexically_normal().string();
}

namespace {

// A pipe that the shell has opened for the command, as for -f <(...): its writer runs already.
// Opening a named pipe waits for a writer, which may never come.
bool IsOpenDescriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

}  // namespace

Result<std::string> CurrentFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  if (!error) return folder.string();
  return Fail(ErrorCode::kFailedPrecondition,
              "the current folder cannot be used: " + error.message() +
                  "; it may have been removed: change into one that exists");
}

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") {
    std::stringstream text;
    text << std::cin.rdbuf();
    return text.str();
  }
  if (IsOpenDescriptor(path)) {
    std::stringstream text;
    if (std::ifstream in(path, std::ios::binary); in) {
      text << in.rdbuf();
      return text.str();
    }
  }
  auto text = base::ReadRegularFile(path);
  if (!text && text.error().code == ErrorCode::kInvalidArgument) {
    return Fail(text.error().code,
                text.error().message + "; save it to one, or give '-' to read standard input");
  }
  return text;
}

Result<json> ReadClusterFile(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return std::unexpected(text.error());
  const auto documents = controller::job::ParseDocuments(*text);
  if (!documents) return base::Wrap("reading " + path, documents.error());
  for (const json& document : *documents) {
    if (controller::job::KindOf(document) != controller::job::kClusterKind) continue;
    if (document.contains("spec")) return document["spec"];
  }
  return Fail(ErrorCode::kInvalidArgument, path + " holds no SimulatedCluster with a spec");
}

Result<json> MakeRunDocument(const RunFlags& flags, const std::string& working_directory) {
  json cluster = MakeCluster(flags);
  if (!flags.cluster_file.empty()) {
    auto read = ReadClusterFile(flags.cluster_file);
    if (!read) return std::unexpected(read.error());
    cluster = std::move(*read);
  }
  json iterations = {{"warmup", flags.warmup}, {"measure", flags.measure}};
  if (flags.tokens > 0) iterations["tokens"] = flags.tokens;
  if (flags.samples > 0) iterations["samples"] = flags.samples;
  if (flags.parameters > 0) iterations["parameters"] = flags.parameters;
  if (!flags.boundary_nvtx.empty()) iterations["boundary"]["nvtx"] = flags.boundary_nvtx;
  if (!flags.boundary_log.empty()) iterations["boundary"]["log"] = flags.boundary_log;
  json spec = {{"cluster", cluster},
               {"command", flags.command},
               {"workingDirectory", working_directory},
               {"iterations", iterations},
               {"hostModel", {{"kind", flags.host_model}}}};
  if (!flags.variation.empty()) spec["variation"] = flags.variation;
  if (flags.variation_seed > 0) spec["variationSeed"] = flags.variation_seed;
  if (flags.servers > 0) spec["servers"] = flags.servers;
  if (flags.ranks_per_server > 0) spec["ranksPerServer"] = flags.ranks_per_server;
  if (!flags.values.empty()) spec["values"]["compute"] = flags.values == "on";
  if (const auto& routing = flags.expert_routing; routing.size() == 3) {
    spec["values"]["expertRouting"] = {
        {"experts", routing[0]}, {"tokens", routing[1]}, {"topK", routing[2]}};
  }
  if (!flags.folding.empty()) spec["folding"]["mode"] = flags.folding;
  if (flags.live_per_class > 0) spec["folding"]["livePerClass"] = flags.live_per_class;
  if (!flags.live.empty()) spec["folding"]["live"] = flags.live;
  if (flags.strict) spec["strict"] = true;
  if (flags.timeline_iterations > 0) {
    spec["outputs"]["timeline"]["iterations"] = flags.timeline_iterations;
    if (!flags.timeline_ranks.empty()) {
      spec["outputs"]["timeline"]["ranks"] = flags.timeline_ranks;
    }
  }
  if (flags.recording) spec["outputs"]["recording"] = true;
  if (flags.event_log) spec["outputs"]["eventLog"] = true;
  return json{{"apiVersion", controller::job::kApiVersion},
              {"kind", controller::job::kJobKind},
              {"metadata", {{"name", flags.name}}},
              {"spec", spec}};
}

}  // namespace eidolon::cli
