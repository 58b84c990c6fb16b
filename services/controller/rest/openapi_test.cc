// The description of the API against the code: routes, fields of documents both ways, fields of
// answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "services/base/text.h"
#include "services/contract/cluster/cpu_model.h"
#include "services/contract/cluster/presets.h"
#include "services/contract/critical_path/summary.h"
#include "services/controller/job/critical_path.h"
#include "services/controller/job/job.h"
#include "services/controller/job/status.h"
#include "services/controller/rest/embedded.h"
#include "services/controller/rest/fake_api_test.h"
#include "services/controller/rest/handlers.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::rest {
namespace {

using nlohmann::json;

json OpenApi() { return json::parse(OpenApiDocument()); }

const json& Resolve(const json& document, const json& schema) {
  if (!schema.contains("$ref")) return schema;
  const std::string pointer = schema["$ref"].get<std::string>().substr(1);
  return Resolve(document, document.at(json::json_pointer(pointer)));
}

// A value that has every field a schema describes, but those that exclude each other: of the fields
// that belong to some kinds of networks those of `preset`.
json SampleOf(const json& document, const json& unresolved, const std::string& preset) {
  const json& schema = Resolve(document, unresolved);
  if (schema.contains("example")) return schema["example"];
  if (schema.contains("default")) return schema["default"];
  if (schema.contains("oneOf") && !schema.contains("type")) {
    return SampleOf(document, schema["oneOf"][0], preset);
  }
  if (schema.contains("enum")) {
    const bool kind = std::ranges::find(schema["enum"], json(preset)) != schema["enum"].end();
    return kind ? json(preset) : schema["enum"][0];
  }
  const std::string type = schema.value("type", "");
  if (type == "object") {
    json object = json::object();
    if (!schema.contains("properties")) return object;
    for (const auto& [name, property] : schema["properties"].items()) {
      if (name == "clusterRef" || property.contains("x-kubernetes-only")) continue;
      const json kinds = property.value("x-eidolon-presets", json::array({preset}));
      if (std::ranges::find(kinds, json(preset)) == kinds.end()) continue;
      object[name] = SampleOf(document, property, preset);
    }
    return object;
  }
  if (type == "array") {
    if (schema.value("maxItems", 1) == 0) return json::array();
    return json::array({SampleOf(document, schema["items"], preset)});
  }
  if (type == "integer") return schema.value("minimum", 1);
  if (type == "number") return schema.value("minimum", 1.0);
  if (type == "boolean") return true;
  if (schema.value("maxLength", 1) == 0) return "";
  return schema.contains("pattern") ? "/a" : "a";
}

std::string Described(const job::Problems& problems) { return job::Describe(problems); }

job::Problems ProblemsOf(const json& document) {
  if (document["kind"] == "SimulatedCluster") return job::ParseCluster(document).problems;
  if (document["kind"] == sweep::kSweepKind) {
    return sweep::ParseSweep(document, job::Mode::kEmbedded).problems;
  }
  return job::ParseJob(document, job::Mode::kEmbedded).problems;
}

// A kind of document, and the kind of network in it.
class OpenApiDocumentTest : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  OpenApiDocumentTest() : schema_(api_["components"]["schemas"][std::get<0>(GetParam())]) {
    sample_ = SampleOf(api_, schema_, std::get<1>(GetParam()));
    sample_["metadata"].erase("generateName");
    sample_.erase("status");
  }

  // Compares the fields that the reader allows in each object of the sample with those described.
  void CheckObject(const json& unresolved, const std::string& pointer) {
    const json& schema = Resolve(api_, unresolved);
    const json& value = sample_.at(json::json_pointer(pointer));
    if (value.is_array() && !value.empty()) CheckObject(schema["items"], pointer + "/0");
    if (!value.is_object() || !schema.contains("properties")) return;
    json changed = sample_;
    changed[json::json_pointer(pointer)]["qqqqqqqqqqqqqqq"] = 1;
    const job::Problems problems = ProblemsOf(changed);
    ASSERT_EQ(problems.size(), 1u) << pointer << "\n" << Described(problems);
    const std::string& detail = problems[0].detail;
    const std::string list = detail.substr(detail.find("Allowed: ") + 9);
    std::set<std::string> allowed;
    for (std::string_view name : base::Split(list, ',')) {
      while (name.starts_with(' ')) name.remove_prefix(1);
      allowed.emplace(name);
    }
    std::set<std::string> described;
    for (const auto& [name, property] : schema["properties"].items()) described.insert(name);
    if (pointer == "/metadata") described.erase("deletionTimestamp");  // Never in a request.
    EXPECT_EQ(allowed, described) << "fields of '" << pointer << "'";
    for (const auto& [name, property] : schema["properties"].items()) {
      if (value.contains(name)) CheckObject(property, pointer + "/" + name);
    }
  }

  json api_ = OpenApi();
  const json& schema_;
  json sample_;
};

TEST(OpenApiTest, NamesThePresetsAndProcessorsThatThereAre) {
  const json api = OpenApi();
  const json& server =
      api["components"]["schemas"]["ClusterSpec"]["properties"]["server"]["properties"];

  EXPECT_EQ(server["preset"]["enum"], json(cluster::PresetNames()));
  std::vector<std::string> processors = cluster::CpuModelNames();
  processors.emplace_back(cluster::kUnknownCpu);
  EXPECT_EQ(server["cpu"]["properties"]["model"]["enum"], json(processors));
}

TEST_P(OpenApiDocumentTest, EveryDescribedFieldIsAccepted) {
  sample_["metadata"].erase("deletionTimestamp");

  EXPECT_EQ(Described(ProblemsOf(sample_)), "");
}

TEST_P(OpenApiDocumentTest, EveryAcceptedFieldIsDescribed) {
  sample_["metadata"].erase("deletionTimestamp");
  for (const char* part : {"/metadata", "/spec"}) {
    CheckObject(schema_["properties"][part + 1], part);
  }
}

INSTANTIATE_TEST_SUITE_P(Sweep, OpenApiDocumentTest,
                         ::testing::Values(std::tuple("SimulationSweep", "fat-tree")),
                         [](const auto&) { return "fattree"; });
INSTANTIATE_TEST_SUITE_P(, OpenApiDocumentTest,
                         ::testing::Combine(::testing::Values("SimulationJob", "SimulatedCluster"),
                                            ::testing::Values("fat-tree", "dragonfly", "torus",
                                                              "graph")),
                         [](const auto& row) {
                           std::string network = std::get<1>(row.param);
                           std::erase(network, '-');
                           return std::get<0>(row.param) + ("_" + network);
                         });

void CheckAnswer(const json& api, const json& unresolved, const json& value,
                 const std::string& pointer) {
  const json& schema = Resolve(api, unresolved);
  if (value.is_array()) {
    for (const json& entry : value) CheckAnswer(api, schema["items"], entry, pointer + "/0");
    return;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
        << pointer << " is " << value;
  }
  if (!value.is_object() || schema.contains("x-kubernetes-preserve-unknown-fields")) return;
  for (const auto& [name, entry] : value.items()) {
    ASSERT_TRUE(schema["properties"].contains(name)) << pointer << "/" << name;
    CheckAnswer(api, schema["properties"][name], entry, pointer + "/" + name);
  }
}

TEST(OpenApiTest, DescribesEveryFieldOfAStatus) {
  job::JobStatus status;
  status.conditions.Set({std::string(job::condition::kComplete), true,
                         std::string(job::reason::kCommandEnded), "m", "t"});
  status.progress = {.remaining_seconds = 1};
  status.prediction.emplace();
  status.prediction->measured_iterations = 1;
  status.prediction->iteration_seconds.emplace();
  status.prediction->iteration_picoseconds = {1};
  status.prediction->unevenness = {.even_mean = 1,
                                   .odd = {{.position = 1, .seconds = 2, .more = {}}}};
  status.prediction->tokens = {
      .is_declared = true, .per_iteration = 1, .derived = std::nullopt, .not_derived = "a"};
  status.prediction->tokens_per_second = 1;
  status.prediction->model_flops_utilization = 1;
  status.prediction->program.emplace();
  status.prediction->breakdown.emplace();
  status.prediction->coverage.emplace();
  status.prediction->assumed_kernels = {{"a", 1}};
  status.prediction->kernels = {
      {.name = "a", .family = "b", .source = "modelled", .matrix_flops = 1}};
  status.prediction->target = {.servers = 1, .ranks = 1, .used_gpus = 1, .cluster = {}};
  status.prediction->target->cluster.cpu = cluster::CpuModelNames().front();
  status.prediction->matrix_rate = {.flops_per_gpu = 1, .flops_per_second = 1, .peak = 1};
  status.prediction->memory = {
      {.rank = 0, .allocations_bytes = 1, .refused_bytes = 1, .parameter_bytes = 1},
      {.rank = 0, .device = 1}};
  status.prediction->unsupported_calls = {{"a", 1}};
  status.prediction->clamped_records = 1;
  status.simulation = {.wall_seconds = 1, .slowdown = 1, .machine = job::MachineLoad{1, 0.5}};
  status.start_time = status.completion_time = "t";
  status.warnings = {"w"};
  const json api = OpenApi();

  CheckAnswer(api, api["components"]["schemas"]["JobStatus"], ToJson(status), "/status");
  status.prediction->tokens->derived = 2;
  CheckAnswer(api, api["components"]["schemas"]["JobStatus"], ToJson(status), "/status");
}

TEST(OpenApiTest, DescribesEveryFieldOfACriticalPath) {
  critical_path::Summary path{.iteration = 1,
                              .length = {40},
                              .kinds = {{.kind = critical_path::Kind::kDelay, .time = {40}}},
                              .links = {{.tier = critical_path::LinkTier::kNic, .time = {3}}},
                              .operations = {{.name = "a", .time = {1}, .times = 1}}};
  for (std::int32_t rank = 0; rank < 40; ++rank) path.ranks.push_back({rank, {1}});
  const json api = OpenApi();

  CheckAnswer(api, api["components"]["schemas"]["JobStatus"],
              {{"prediction", {{"criticalPath", job::ToJson(path)}}}}, "/status");
}

TEST(OpenApiTest, DescribesEveryFieldOfASweepsStatus) {
  const json sweep = {{"metadata", {{"name", "s"}, {"uid", "1"}}}};
  sweep::SweepSpec spec;
  spec.job = {{"command", {"true"}}};
  spec.matrix = {{"servers", {1, 2, 3}}};
  spec.prices = {{"A", 1}};
  const json done = {
      {"phase", "Complete"},
      {"conditions", {{{"type", "Complete"}, {"status", "True"}, {"reason", "CommandEnded"}}}},
      {"prediction",
       {{"iterationSeconds", {{"mean", 1}}},
        {"tokensPerSecond", 1},
        {"target",
         {{"servers", 1}, {"cluster", {{"server", {{"gpu", "A"}, {"gpusPerServer", 1}}}}}}}}}};
  const sweep::SweepPlan plan =
      sweep::PlanSweep({.sweep = sweep,
                        .spec = spec,
                        .jobs = {{"s-p1", {{"status", done}}}, {"s-p2-2", {{"status", done}}}},
                        .refused = {{"s-p3", "why"}},
                        .recording_of = nullptr,
                        .trouble = "",
                        .now = "t"});
  const json api = OpenApi();

  ASSERT_TRUE((*plan.status)["points"][1].contains("costPerUnit")) << plan.status->dump(1);
  CheckAnswer(api, api["components"]["schemas"]["SweepStatus"], *plan.status, "/status");
}

TEST(OpenApiTest, DescribesEveryRouteAndNoOther) {
  FakeApi api;
  const Handlers handlers(&api, /*authorizer=*/nullptr, 1);
  std::set<std::string> served;
  for (const Route& route : handlers.routes()) served.insert(route.method + " " + route.path);

  std::set<std::string> described;
  const json document = OpenApi();
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      described.insert(upper + " " + path);
    }
  }

  EXPECT_EQ(served, described);
}

}  // namespace
}  // namespace eidolon::controller::rest
