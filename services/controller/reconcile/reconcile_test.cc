// Pairs of files: testdata/<case>.yaml holds what is there and what should follow. The second
// document of a case is the plan; only what it names is compared, so that a case shows one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/controller/job/document.h"
#include "services/controller/reconcile/objects.h"
#include "services/controller/reconcile/plan.h"
#include "source_tree.h"

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;

constexpr char kFolder[] = EIDOLON_SOURCE_DIR "/services/controller/reconcile/testdata";
constexpr std::int64_t kNowNs = 1'794'998'400'000'000'000;

std::vector<json> Load(const std::string& name) {
  std::ifstream file(std::string(kFolder) + "/" + name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto documents = job::ParseYaml(text);
  EXPECT_TRUE(documents.has_value()) << (documents ? "" : documents.error().message);
  return documents.value_or(std::vector<json>{});
}

Settings TestSettings() {
  return {.services_image = "services:1",
          .injection_image = "injection:1",
          .agents_address = "10.0.0.1:7401"};
}

std::optional<json> Optional(const json& object, const char* field) {
  return object.contains(field) ? std::optional<json>(object[field]) : std::nullopt;
}

RunFacts ToFacts(const json& run) {
  RunFacts facts{.attempt = run.value("attempt", 1u),
                 .placed = run.value("placed", false),
                 .seen = run.value("seen", false),
                 .assembled = run.value("assembled", false),
                 .ending = run.value("ending", false),
                 .admitted_s = run.value("admittedSeconds", 0),
                 .refusal = {},
                 .disruption = std::nullopt,
                 .stop_reason = run.value("stopReason", "")};
  if (run.contains("refused")) {
    facts.refusal = ClassifyRefusal(403, run["refused"].get<std::string>());
  }
  if (run.contains("disruption")) {
    facts.disruption = {run["disruption"]["reason"], run["disruption"]["message"]};
  }
  facts.parts = run.value("parts", json::object());
  facts.ranks_differ_by = job::DimensionsFromJson(run.value("ranksDifferBy", json::array()));
  facts.warnings = run.value("warnings", std::vector<std::string>{});
  if (run.contains("verdict")) {
    const json& verdict = run["verdict"];
    const job::Phase phase =
        verdict["phase"] == "Complete" ? job::Phase::kComplete : job::Phase::kFailed;
    facts.verdict = {phase, verdict["reason"], verdict.value("message", "")};
  }
  return facts;
}

ObservedJob ToObserved(const json& seen) {
  ObservedJob observed;
  observed.job = seen["job"];
  observed.cluster = Optional(seen, "cluster");
  observed.network = Optional(seen, "network");
  observed.placed = Optional(seen, "placed");
  observed.pods = seen.value("pods", std::vector<json>{});
  if (seen.contains("run")) observed.run = ToFacts(seen["run"]);
  if (seen.value("timing", true)) observed.gpus = std::vector<std::string>{"H100-SXM5-80GB"};
  observed.admission.granted = seen.value("turn", true);
  observed.now_unix_ns = kNowNs;
  return observed;
}

json ToJson(const Plan& plan) {
  json out = {{"apply", json::array()},  {"remove", json::array()},
              {"events", json::array()}, {"exits", json::array()},
              {"run", "none"},           {"removeItself", plan.remove_itself}};
  for (const json& object : plan.apply) out["apply"].push_back(object);
  for (const Deletion& deletion : plan.remove) {
    out["remove"].push_back(deletion.kind + "/" + deletion.name +
                            (deletion.in_background ? " in background" : ""));
  }
  for (const Transition& event : plan.events) out["events"].push_back(event.reason);
  for (const AgentExit& exit : plan.exits) {
    out["exits"].push_back(
        {{"server", exit.server}, {"how", exit.how}, {"memoryKill", exit.memory_kill}});
  }
  if (plan.run == RunStep::kStart) out["run"] = "start";
  if (plan.run == RunStep::kDrop) out["run"] = "drop";
  if (plan.attempt > 0) out["attempt"] = plan.attempt;
  if (plan.status) {
    out["status"] = *plan.status;
    json conditions = json::object();
    for (const json& condition : (*plan.status)["conditions"]) {
      conditions[condition["type"].get<std::string>()] = condition;
    }
    out["status"]["conditions"] = conditions;
  }
  if (plan.look_again_s) out["lookAgainSeconds"] = *plan.look_again_s;
  return out;
}

// Everything that `wanted` names is in `got`; lists of objects are compared entry by entry.
void ExpectHas(const json& got, const json& wanted, const std::string& where) {
  if (wanted.is_object()) {
    ASSERT_TRUE(got.is_object()) << where << " is " << got;
    for (const auto& [name, value] : wanted.items()) {
      ASSERT_TRUE(got.contains(name)) << where << "/" << name << " is missing in " << got.dump(1);
      ExpectHas(got[name], value, where + "/" + name);
    }
  } else if (wanted.is_array() && !wanted.empty() && wanted[0].is_object()) {
    ASSERT_EQ(got.size(), wanted.size()) << where << " is " << got.dump(1);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ExpectHas(got[i], wanted[i], where + "/" + std::to_string(i));
    }
  } else {
    EXPECT_EQ(got, wanted) << where;
  }
}

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class ReconcileTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ReconcileTest, PlansWhatTheCaseSays) {
  const std::vector<json> documents = Load(GetParam());
  ASSERT_EQ(documents.size(), 2u);

  const Plan plan = ReconcileJob(ToObserved(documents[0]), TestSettings());

  ExpectHas(ToJson(plan), documents[1], "");
}

TEST_P(ReconcileTest, DoesNotWriteTheSameStatusTwice) {
  const std::vector<json> documents = Load(GetParam());
  ObservedJob observed = ToObserved(documents[0]);
  const Plan first = ReconcileJob(observed, TestSettings());
  if (!first.status) return;
  observed.job["status"] = *first.status;
  if (first.run == RunStep::kDrop) observed.run.reset();
  observed.now_unix_ns += 5'000'000'000;

  const Plan second = ReconcileJob(observed, TestSettings());

  EXPECT_FALSE(second.status) << second.status->dump(1) << "\nafter\n" << first.status->dump(1);
  EXPECT_TRUE(second.events.empty());
}

INSTANTIATE_TEST_SUITE_P(, ReconcileTest, ::testing::ValuesIn(Cases()), [](const auto& row) {
  std::string name = row.param.substr(0, row.param.find('.'));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ReconcileClusterTest, MakesAReadyClusterOfARunningNetworkService) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "h"}, {"namespace", "n"}, {"uid", "u"}}},
                        {"spec", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}}};
  const json network = {{"status", {{"availableReplicas", 1}}}};

  const Plan plan = ReconcileCluster(
      {.cluster = cluster, .network = network, .gpus = std::nullopt, .now_unix_ns = kNowNs},
      TestSettings());

  ASSERT_TRUE(plan.status);
  EXPECT_EQ((*plan.status)["conditions"][1]["status"], "True");
  EXPECT_EQ((*plan.status)["resolved"]["server"]["gpu"], "H100-SXM5-80GB");
  EXPECT_EQ(plan.apply.size(), 2u);
}

TEST(ReconcileClusterTest, RefusesAnUnknownGpuAndStartsNothing) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "h"}, {"namespace", "n"}, {"uid", "u"}}},
                        {"spec", {{"server", {{"gpu", "H1000"}}}}}};

  const Plan plan = ReconcileCluster({.cluster = cluster,
                                      .network = std::nullopt,
                                      .gpus = std::vector<std::string>{"H100-SXM5-80GB"},
                                      .now_unix_ns = kNowNs},
                                     TestSettings());

  ASSERT_TRUE(plan.status);
  EXPECT_EQ((*plan.status)["conditions"][0]["status"], "False");
  EXPECT_TRUE(plan.apply.empty());
}

TEST(ReconcileClusterTest, ItsNetworkServiceAsksForPassesAndIsWalledOff) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "h"}, {"namespace", "n"}, {"uid", "u"}}},
                        {"spec", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}}};
  Settings settings = TestSettings();
  settings.token_key = "c0ffee";
  settings.policy_namespace = "eidolon-system";

  const Plan plan = ReconcileCluster(
      {.cluster = cluster, .network = std::nullopt, .gpus = std::nullopt, .now_unix_ns = kNowNs},
      settings);

  ASSERT_EQ(plan.apply.size(), 3u);
  const json& args = plan.apply[1]["spec"]["template"]["spec"]["containers"][0]["args"];
  EXPECT_EQ(args[args.size() - 2], "--pass-key");
  EXPECT_EQ(args[args.size() - 1], "c0ffee");
  const json& policy = plan.apply[2];
  EXPECT_EQ(policy["kind"], "NetworkPolicy");
  EXPECT_EQ(policy["spec"]["podSelector"]["matchLabels"],
            plan.apply[1]["spec"]["selector"]["matchLabels"]);
  const json& grpc = policy["spec"]["ingress"][0];
  EXPECT_EQ(grpc["ports"][0]["port"], kNetworkPort);
  ASSERT_EQ(grpc["from"].size(), 2u);
  EXPECT_FALSE(grpc["from"][0].contains("namespaceSelector")) << "agents of its own namespace";
  EXPECT_EQ(grpc["from"][1]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"],
            "eidolon-system");
}

}  // namespace
}  // namespace eidolon::controller::reconcile
