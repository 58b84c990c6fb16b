// Both modes read one schema, so that a document written for one of them gets a useful answer from
// the other. A field that has no effect in a mode gives a warning; one without which the job would
// do something else is a problem. Every method asks for all fields of its part, also of values that
// are not used then: Fields reports what was not asked for as unknown. Bounds of numbers protect
// later arithmetic (ranks, picoseconds, memory), not taste. Reserved variables are those that the
// agent sets itself; a job that set them could not find its own servers.
#include "services/controller/job/job.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "services/base/text.h"
#include "services/controller/job/object_size.h"
#include "services/controller/job/quantity.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;

constexpr std::int64_t kCountMax = 1'000'000'000'000'000;
constexpr std::int64_t kRanksMax = 4096 * 72;
// Of a server's timeline: its agent keeps some 90 bytes of each, and a job that ends has fifteen
// seconds to write them.
constexpr std::int64_t kTimelineOperations = 1'000'000;
constexpr std::int64_t kTimelineOperationsMax = 4'000'000;
constexpr std::size_t kPatternBytesMax = 512;
constexpr std::size_t kCommandBytesMax = 64 * 1024;

// Set by the agent for every rank; a job that overrode them would not find its own servers.
constexpr std::array<std::string_view, 12> kReservedVariables = {
    "MASTER_ADDR", "MASTER_PORT",      "WORLD_SIZE",     "RANK",
    "LOCAL_RANK",  "LOCAL_WORLD_SIZE", "NODE_RANK",      "GROUP_RANK",
    "NNODES",      "LD_PRELOAD",       "NPROC_PER_NODE", "TRITON_LIBCUDA_PATH"};

bool IsReserved(std::string_view name) {
  if (name.starts_with("EIDOLON_") || name.starts_with("PET_")) return true;
  return std::find(kReservedVariables.begin(), kReservedVariables.end(), name) !=
         kReservedVariables.end();
}

class SpecReader {
 public:
  SpecReader(Fields* spec, Mode mode, ParsedJob* job) : fields_(*spec), mode_(mode), job_(*job) {}

  void Read() {
    ReadSize();
    ReadCluster();
    ReadProgram();
    ReadEnvironment();
    ReadCode();
    if (auto iterations = fields_.Object("iterations")) ReadIterations(&*iterations);
    ReadModels();
    ReadReplay();
    ReadLimits();
    ReadOutputs();
    ReadKubernetes();
    spec().backoff_limit =
        static_cast<std::uint32_t>(fields_.Integer("backoffLimit", {0, 100}, kBackoffLimitDefault));
    spec().suspend = fields_.Bool("suspend", false);
    if (fields_.Has("ttlSecondsAfterFinished")) {
      spec().ttl_seconds_after_finished = static_cast<std::uint64_t>(
          fields_.Integer("ttlSecondsAfterFinished", {0, 1'000'000'000}, 0));
    }
    fields_.Finish();
  }

 private:
  JobSpec& spec() { return job_.spec; }
  bool embedded() const { return mode_ == Mode::kEmbedded; }
  void Warn(std::string sentence) { job_.warnings.push_back(std::move(sentence)); }

  void ReadCluster() {
    const bool inline_cluster = fields_.Has("cluster");
    const bool reference = fields_.Has("clusterRef");
    if (inline_cluster && reference) {
      fields_.Report("cluster", "cannot be given together with clusterRef; keep one of them");
    }
    if (!inline_cluster && !reference) {
      fields_.Report("clusterRef",
                     "is required: {name: ...} of a SimulatedCluster, or describe one "
                     "in place as cluster");
    }
    if (auto ref = fields_.Object("clusterRef")) {
      spec().cluster_name = ref->Text("name");
      if (!IsDnsLabel(spec().cluster_name)) {
        ref->Report("name", "must name a SimulatedCluster of the job's namespace");
      }
      ref->Finish();
    }
    if (auto cluster = fields_.Object("cluster")) {
      spec().cluster = ReadClusterSpec(&*cluster, spec().servers.value_or(1));
    }
  }

  void ReadSize() {
    if (fields_.Has("servers")) {
      spec().servers = static_cast<std::uint32_t>(fields_.Integer("servers", {1, 4096}, 1));
    }
    if (fields_.Has("ranksPerServer")) {
      spec().ranks_per_server =
          static_cast<std::uint32_t>(fields_.Integer("ranksPerServer", {1, 72}, 1));
    }
  }

  void ReadProgram() {
    spec().image = fields_.Text("image");
    if (embedded() && !spec().image.empty()) {
      Warn(
          "image has no effect in embedded mode: the command runs in the caller's own environment");
    }
    spec().command = fields_.TextList("command");
    const nlohmann::json* command = fields_.Find("command");
    if (command == nullptr) {
      fields_.Report("command",
                     "is required: the program and its arguments as a list, such as "
                     "[torchrun, train.py]");
    } else if (command->is_array() && (command->empty() || command->front() == "")) {
      fields_.Report("command", "must name a program, such as [torchrun, train.py]");
    }
    std::size_t bytes = 0;
    for (const std::string& word : spec().command) bytes += word.size() + 1;
    if (bytes > kCommandBytesMax) {
      fields_.Report("command",
                     StrCat("has ", bytes, " bytes; at most ", kCommandBytesMax, " are allowed"));
    }
    spec().working_directory = fields_.Text("workingDirectory");
    if (!spec().working_directory.empty() && !spec().working_directory.starts_with('/')) {
      fields_.Report("workingDirectory", "must be an absolute path");
    }
  }

  void ReadEnvironment() {
    std::set<std::string> names;
    for (Fields& entry : fields_.ObjectList("env")) {
      const std::string name = entry.Text("name");
      std::string value = entry.Text("value");
      const bool elsewhere = entry.Has("valueFrom");
      if (elsewhere && embedded()) {
        entry.Report("valueFrom", "exists on Kubernetes only; give the value");
      } else if (elsewhere && !value.empty()) {
        entry.Report("valueFrom", "cannot be given together with value");
      }
      if (name.empty() || name.find('=') != std::string::npos) {
        entry.Report("name", "must be the name of an environment variable");
      } else if (IsReserved(name)) {
        entry.Report("name",
                     "'" + name + "' is set by Eidolon for every rank and cannot be changed");
      } else if (!names.insert(name).second) {
        entry.Report("name", "'" + name + "' occurs twice");
      }
      entry.Finish();
      // The kubelet fills in the others, which reach the command by its container.
      if (!elsewhere) spec().environment.emplace_back(name, std::move(value));
    }
  }

  void ReadCode() {
    auto code = fields_.Object("code");
    if (!code) return;
    const std::string directory = code->Text("directory");
    if (embedded()) {
      for (const char* name : {"configMapRef", "persistentVolumeClaim"}) {
        if (code->Has(name)) {
          code->Report(name, "exists on Kubernetes only; use directory in embedded mode");
        }
      }
      if (!directory.empty() && !directory.starts_with('/')) {
        code->Report("directory", "must be an absolute path");
      } else if (!directory.empty() && spec().working_directory.empty()) {
        spec().working_directory = directory;
      }
    } else if (!directory.empty()) {
      code->Report("directory",
                   "exists in embedded mode only; use configMapRef or "
                   "persistentVolumeClaim");
    }
    spec().code_config_map = ReadReference(&*code, "configMapRef", "name");
    spec().code_claim = ReadReference(&*code, "persistentVolumeClaim", "claimName");
    if (!spec().code_config_map.empty() && !spec().code_claim.empty()) {
      code->Report("configMapRef", "cannot be given together with persistentVolumeClaim");
    }
    code->Finish();
  }

  static std::string ReadReference(Fields* code, std::string_view name, std::string_view field) {
    auto reference = code->Object(name);
    if (!reference) return "";
    std::string text = reference->Text(field);
    if (text.empty()) reference->Report(field, "is required: the name of an object");
    reference->Finish();
    return text;
  }

  // What only pods have; its shape is the API server's to check.
  void ReadKubernetes() {
    spec().managed_by = fields_.Text("managedBy");
    const nlohmann::json* pods = fields_.Find("podTemplate");
    if (pods != nullptr && !pods->is_object()) {
      fields_.Report("podTemplate", "must be an object, not " + DescribeValue(*pods));
    }
    const nlohmann::json* sources = fields_.Find("envFrom");
    if (sources != nullptr && !sources->is_array()) {
      fields_.Report("envFrom", "must be a list of sources, not " + DescribeValue(*sources));
    }
    if (embedded()) {
      for (const char* name : {"managedBy", "podTemplate", "backoffLimit", "envFrom"}) {
        if (fields_.Has(name)) Warn(std::string(name) + " has no effect in embedded mode");
      }
    } else if (spec().image.empty()) {
      fields_.Report("image", "is required: the container image that holds the program");
    }
  }

  void ReadIterations(Fields* iterations) {
    IterationRule& rule = spec().iterations;
    rule.warmup = static_cast<std::uint32_t>(iterations->Integer("warmup", {0, 100'000}, 3));
    rule.measure = static_cast<std::uint32_t>(iterations->Integer("measure", {1, 100'000}, 5));
    rule.tokens = static_cast<std::uint64_t>(iterations->Integer("tokens", {1, kCountMax}, 0));
    rule.samples = static_cast<std::uint64_t>(iterations->Integer("samples", {1, kCountMax}, 0));
    rule.parameters =
        static_cast<std::uint64_t>(iterations->Integer("parameters", {1, kCountMax}, 0));
    ReadBoundary(iterations);
    iterations->Finish();
  }

  void ReadBoundary(Fields* iterations) {
    const nlohmann::json* value = iterations->Find("boundary");
    if (value == nullptr || *value == "auto") return;
    if (!value->is_object()) {
      iterations->Report(
          "boundary",
          "must be auto, {nvtx: <range name>} or {log: <pattern>}, not " + DescribeValue(*value));
      return;
    }
    auto boundary = iterations->Object("boundary");
    IterationRule& rule = spec().iterations;
    rule.nvtx = boundary->Text("nvtx");
    rule.log = boundary->Text("log");
    if (rule.nvtx.empty() == rule.log.empty()) {
      iterations->Report("boundary", "must have exactly one of nvtx and log");
    }
    if (rule.log.size() > kPatternBytesMax) {
      boundary->Report("log", StrCat("is longer than ", kPatternBytesMax, " characters"));
    } else if (!rule.log.empty()) {
      CheckPattern(&*boundary, rule.log);
    }
    boundary->Finish();
  }

  static void CheckPattern(Fields* boundary, const std::string& pattern) {
    const re2::RE2 parsed(pattern, re2::RE2::Quiet);
    if (!parsed.ok()) {
      boundary->Report("log", StrCat("is not a regular expression: ", parsed.error()));
    }
  }

  void ReadModels() {
    if (auto host_model = fields_.Object("hostModel")) {
      const std::string kind = host_model->Choice(
          "kind", {kHostModelNames.begin(), kHostModelNames.end()}, NameOf(HostModel::kCounted));
      for (const HostModel model : {HostModel::kMeasured, HostModel::kCounted, HostModel::kFixed}) {
        if (kind == NameOf(model)) spec().host_model = model;
      }
      if (auto jitter = host_model->Object("jitter")) ReadJitter(&*jitter);
      host_model->Finish();
    }
    spec().varies = fields_.Choice("variation", {"published", "none"}, "published") != "none";
    spec().variation_seed =
        static_cast<std::uint64_t>(fields_.Integer("variationSeed", {0, 1'000'000'000'000}, 0));
    if (auto values = fields_.Object("values")) spec().values = ReadValues(&*values);
    if (auto folding = fields_.Object("folding")) ReadFolding(&*folding);
    spec().strict = fields_.Bool("strict", false);
  }

  void ReadJitter(Fields* jitter) {
    const std::string distribution =
        jitter->Choice("distribution", {"none", "constant", "exponential"}, "none");
    JitterSpec read{
        .exponential = distribution == "exponential",
        .per_second = jitter->Number("perSecond", {0, 1e5, /*min_excluded=*/true}, 0),
        .length = base::Duration::Microseconds(jitter->Integer("microseconds", {1, 1'000'000}, 0)),
        .seed = static_cast<std::uint64_t>(jitter->Integer("seed", {0, 1'000'000'000'000}, 0))};
    if (distribution != "none") {
      for (const char* name : {"perSecond", "microseconds"}) {
        if (!jitter->Has(name))
          jitter->Report(name, "is required: delays have a rate and a length");
      }
      spec().jitter = read;
    }
    jitter->Finish();
  }

  void ReadFolding(Fields* folding) {
    FoldingSpec& read = spec().folding;
    const std::string mode = folding->Choice("mode", {"auto", "off", "required"}, "auto");
    if (mode == "off") read.mode = FoldingSpec::Mode::kOff;
    if (mode == "required") read.mode = FoldingSpec::Mode::kRequired;
    read.live_per_class =
        static_cast<std::uint32_t>(folding->Integer("livePerClass", {1, 1024}, 2));
    read.live = folding->IntegerList("live", {0, kRanksMax - 1});
    folding->Finish();
  }

  void ReadLimits() {
    auto limits = fields_.Object("limits");
    if (!limits) return;
    spec().wall_seconds_max =
        static_cast<std::uint64_t>(limits->Integer("wallSeconds", {1, 31'536'000}, 0));
    spec().still_seconds_max = static_cast<std::uint64_t>(
        limits->Integer("stillSeconds", {0, 31'536'000}, kStillSecondsDefault));
    spec().schedule_seconds_max = static_cast<std::uint64_t>(
        limits->Integer("scheduleSeconds", {0, 31'536'000}, kScheduleSecondsDefault));
    spec().log_bytes_max = static_cast<std::uint64_t>(
        limits->Integer("logBytes", {kLogBytesMin, kLogBytesMax}, kLogBytesDefault));
    if (!embedded() && limits->Find("logBytes") != nullptr) {
      Warn(
          "limits.logBytes has no effect on Kubernetes: the kubelet keeps and rotates the logs of "
          "pods (containerLogMaxSize, containerLogMaxFiles)");
    }
    const nlohmann::json* memory = limits->Find("memoryPerServer");
    if (memory != nullptr) {
      const std::string text = memory->is_string() ? memory->get<std::string>() : memory->dump();
      const auto bytes = ParseBytes(text);
      if (!bytes || *bytes == 0) {
        limits->Report("memoryPerServer",
                       "must be an amount of memory such as 16Gi, not " + DescribeValue(*memory));
      } else {
        spec().memory_per_server_bytes = *bytes;
        if (embedded()) Warn("limits.memoryPerServer is not enforced in embedded mode");
      }
    }
    limits->Finish();
  }

  void ReadOutputs() {
    auto outputs = fields_.Object("outputs");
    if (!outputs) return;
    spec().event_log = outputs->Bool("eventLog", false);
    if (auto timeline = outputs->Object("timeline")) ReadTimeline(&*timeline);
    spec().recording = outputs->Bool("recording", false);
    outputs->Finish();
  }

  void ReadReplay() {
    auto replay = fields_.Object("replay");
    if (!replay) return;
    ReplaySpec& read = spec().replay;
    read.recording = replay->Text("recording");
    read.host_factor = replay->Number("hostFactor", {0, 1000}, 1);
    read.kernel_factor = replay->Number("kernelFactor", {0, 1000}, 1);
    read.communication_factor = replay->Number("communicationFactor", {0, 1000}, 1);
    read.even_hosts = replay->Bool("evenHosts", false);
    if (!read.recording.starts_with('/')) {
      replay->Report("recording", "is required: the absolute path of a recording");
    } else if (!embedded()) {
      replay->Report("recording",
                     "exists in embedded mode only; 'eidolon replay' needs no cluster");
    }
    replay->Finish();
  }

  void ReadTimeline(Fields* timeline) {
    TimelineSpec& read = spec().timeline;
    read.iterations = static_cast<std::uint32_t>(timeline->Integer("iterations", {0, 1000}, 1));
    read.ranks = timeline->IntegerList("ranks", {0, kRanksMax - 1});
    read.operations_max = static_cast<std::uint64_t>(
        timeline->Integer("operations", {1, kTimelineOperationsMax}, kTimelineOperations));
    timeline->Finish();
  }

  Fields& fields_;
  Mode mode_;
  ParsedJob& job_;
};

void ReportNoObject(const nlohmann::json& document, Problems* problems) {
  problems->push_back({"", "must be an object, not " + DescribeValue(document)});
}

}  // namespace

ParsedJob ParseJob(const nlohmann::json& document, Mode mode) {
  ParsedJob job;
  if (!document.is_object()) {
    ReportNoObject(document, &job.problems);
    return job;
  }
  Fields fields(document, "", &job.problems);
  job.metadata = ReadMetadata(&fields, kJobKind);
  fields.Ignore("status");
  if (auto spec = fields.Object("spec")) {
    SpecReader(&*spec, mode, &job).Read();
  } else if (!fields.Has("spec")) {
    fields.Report("spec", "is required");
  }
  fields.Finish();
  if (mode == Mode::kKubernetes) CheckSpecSize(document, kJobSpecBytesMax, &job.problems);
  return job;
}

ParsedCluster ParseCluster(const nlohmann::json& document) {
  ParsedCluster cluster;
  if (!document.is_object()) {
    ReportNoObject(document, &cluster.problems);
    return cluster;
  }
  Fields fields(document, "", &cluster.problems);
  cluster.metadata = ReadMetadata(&fields, kClusterKind);
  fields.Ignore("status");
  if (auto spec = fields.Object("spec")) {
    cluster.spec = ReadClusterSpec(&*spec, 1);
  } else if (!fields.Has("spec")) {
    fields.Report("spec", "is required");
  }
  fields.Finish();
  return cluster;
}

}  // namespace eidolon::controller::job
