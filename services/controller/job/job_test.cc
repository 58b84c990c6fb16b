#include "services/controller/job/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/controller/job/document.h"
#include "services/controller/job/fields.h"
#include "services/controller/job/resolve.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The smallest acceptable job; tests change one thing.
json SmallJob() {
  return {{"apiVersion", "eidolon.dev/v1alpha1"},
          {"kind", "SimulationJob"},
          {"metadata", {{"name", "small"}}},
          {"spec",
           {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}},
            {"command", {"torchrun", "train.py"}}}}};
}

json With(std::string pointer, json value) {
  json job = SmallJob();
  job[json::json_pointer(pointer)] = std::move(value);
  return job;
}

TEST(JobTest, FillsInDefaults) {
  const ParsedJob job = ParseJob(SmallJob(), Mode::kEmbedded);

  ASSERT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
  EXPECT_EQ(job.metadata.name, "small");
  EXPECT_EQ(job.spec.iterations.warmup, 3u);
  EXPECT_EQ(job.spec.iterations.measure, 5u);
  EXPECT_EQ(job.spec.host_model, HostModel::kCounted);
  EXPECT_FALSE(job.spec.jitter.has_value());
  EXPECT_TRUE(job.spec.varies);
  EXPECT_EQ(job.spec.variation_seed, 0u);
  EXPECT_EQ(job.spec.cluster->gpu, "H100-SXM5-80GB");
  EXPECT_EQ(job.spec.cluster->gpus_per_server, 8u);
  EXPECT_EQ(job.spec.cluster->fabric.kind, "rail-optimised");
}

TEST(JobTest, ReadsEveryField) {
  const auto documents = ParseDocuments(R"(
apiVersion: eidolon.dev/v1alpha1
kind: SimulationJob
metadata: {name: llama-8b-fsdp, labels: {team: a}}
spec:
  clusterRef: {name: h100-pod}
  servers: 2
  ranksPerServer: 4
  command: [torchrun, train.py, --steps, "1000"]
  workingDirectory: /home/me
  env: [{name: OMP_NUM_THREADS, value: "1"}]
  iterations: {warmup: 1, measure: 2, boundary: {log: 'step\s+(\d+)'}, tokens: 131072,
               parameters: 8000000000}
  hostModel:
    kind: fixed
    jitter: {distribution: exponential, perSecond: 100, microseconds: 250, seed: 7}
  variation: none
  variationSeed: 12
  folding: {mode: required, livePerClass: 1, live: [5]}
  values: {unknownReads: one}
  limits: {wallSeconds: 3600, stillSeconds: 30, logBytes: 2097152}
  outputs: {eventLog: true, timeline: {iterations: 2, ranks: [0, 7], operations: 5000}}
  strict: true
  suspend: true
  ttlSecondsAfterFinished: 86400
)");
  ASSERT_TRUE(documents) << documents.error().message;

  const ParsedJob job = ParseJob(documents->front(), Mode::kEmbedded);

  ASSERT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
  EXPECT_THAT(job.warnings, IsEmpty());
  const JobSpec& spec = job.spec;
  EXPECT_EQ(spec.cluster_name, "h100-pod");
  EXPECT_EQ(spec.servers, 2u);
  EXPECT_EQ(spec.ranks_per_server, 4u);
  EXPECT_THAT(spec.command, ElementsAre("torchrun", "train.py", "--steps", "1000"));
  EXPECT_EQ(spec.working_directory, "/home/me");
  EXPECT_EQ(spec.environment.front().second, "1");
  EXPECT_EQ(spec.iterations.log, R"(step\s+(\d+))");
  EXPECT_EQ(spec.iterations.tokens, 131072u);
  EXPECT_EQ(spec.host_model, HostModel::kFixed);
  EXPECT_TRUE(spec.strict && spec.suspend && spec.event_log);
  EXPECT_EQ(spec.timeline.iterations, 2u);
  EXPECT_THAT(spec.timeline.ranks, ElementsAre(0u, 7u));
  EXPECT_EQ(spec.timeline.operations_max, 5000u);
  ASSERT_TRUE(spec.jitter.has_value());
  EXPECT_TRUE(spec.jitter->exponential);
  EXPECT_DOUBLE_EQ(spec.jitter->per_second, 100);
  EXPECT_EQ(spec.jitter->length, base::Duration::Microseconds(250));
  EXPECT_EQ(spec.jitter->seed, 7u);
  EXPECT_FALSE(spec.varies);
  EXPECT_EQ(spec.variation_seed, 12u);
  EXPECT_EQ(spec.values.unknown_reads, UnknownReads::kOne);
  EXPECT_EQ(spec.wall_seconds_max, 3600u);
  EXPECT_EQ(spec.still_seconds_max, 30u);
  EXPECT_EQ(spec.log_bytes_max, 2097152u);
  EXPECT_EQ(spec.ttl_seconds_after_finished, 86400u);
  EXPECT_EQ(job.spec.folding.mode, FoldingSpec::Mode::kRequired);
  EXPECT_EQ(job.spec.folding.live_per_class, 1u);
  EXPECT_THAT(job.spec.folding.live, ElementsAre(5u));
}

TEST(JobTest, ATimelineHasOneIterationOfAllRanksUnlessAskedOtherwise) {
  const json document = With("/spec/outputs", {{"timeline", json::object()}});

  const ParsedJob job = ParseJob(document, Mode::kEmbedded);

  ASSERT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.timeline.iterations, 1u);
  EXPECT_THAT(job.spec.timeline.ranks, IsEmpty());
  EXPECT_EQ(job.spec.timeline.operations_max, 1'000'000u);
  EXPECT_EQ(ParseJob(With("/spec/strict", true), Mode::kEmbedded).spec.timeline.iterations, 0u);
}

TEST(JobTest, ReadsARecordingInThePlaceOfTheCommand) {
  const json replay = {{"recording", "/data/a.eidrec"}, {"hostFactor", 0.5}};
  const ParsedJob job = ParseJob(With("/spec/replay", replay), Mode::kEmbedded);
  ASSERT_TRUE(job.problems.empty()) << Describe(job.problems);
  EXPECT_EQ(job.spec.replay.recording, "/data/a.eidrec");
  EXPECT_EQ(job.spec.replay.host_factor, 0.5);
  EXPECT_EQ(job.spec.replay.kernel_factor, 1);
  EXPECT_EQ(job.spec.replay.communication_factor, 1);
  EXPECT_FALSE(job.spec.replay.even_hosts);
  EXPECT_EQ(Permille(0.5), 500u);
  const json relative = With("/spec/replay/recording", "a.eidrec");
  EXPECT_THAT(Describe(ParseJob(relative, Mode::kEmbedded).problems),
              HasSubstr("/spec/replay/rec"));
}

TEST(JobTest, KeepsRecordingsInBothModes) {
  json document = With("/spec/outputs", {{"recording", true}});
  document["spec"]["image"] = "registry.example/train:1";
  for (const Mode mode : {Mode::kEmbedded, Mode::kKubernetes}) {
    const ParsedJob job = ParseJob(document, mode);

    EXPECT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
    EXPECT_TRUE(job.spec.recording);
  }
}

TEST(JobTest, FoldsInBothModes) {
  json document = With("/spec/folding", {{"mode", "required"}, {"live", {3}}});
  document["spec"]["image"] = "registry.example/train:1";
  for (const Mode mode : {Mode::kEmbedded, Mode::kKubernetes}) {
    const ParsedJob job = ParseJob(document, mode);

    EXPECT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
    EXPECT_EQ(job.spec.folding.mode, FoldingSpec::Mode::kRequired);
    EXPECT_THAT(job.spec.folding.live, ElementsAre(3u));
  }
}

TEST(JobTest, TakesATimelineOnKubernetes) {
  json document = With("/spec/outputs", {{"timeline", {{"iterations", 1}}}});
  document["spec"]["image"] = "registry.example/train:1";

  const ParsedJob job = ParseJob(document, Mode::kKubernetes);

  EXPECT_EQ(Describe(job.problems).find("timeline"), std::string::npos) << Describe(job.problems);
  EXPECT_EQ(job.spec.timeline.iterations, 1u);
}

TEST(JobTest, WarnsOfFieldsWithoutEffect) {
  json document = With("/spec/image", "registry.example/train:1");
  document["spec"]["limits"]["memoryPerServer"] = "16Gi";

  const ParsedJob job = ParseJob(document, Mode::kEmbedded);

  EXPECT_THAT(job.problems, IsEmpty());
  EXPECT_THAT(job.warnings, ElementsAre(HasSubstr("image has no effect"),
                                        HasSubstr("memoryPerServer is not enforced")));
}

TEST(JobTest, SaysThatTheKubeletKeepsLogs) {
  json document = With("/spec/limits", {{"logBytes", 2 << 20}});
  document["spec"]["image"] = "registry.example/train:1";

  EXPECT_THAT(ParseJob(document, Mode::kKubernetes).warnings,
              ::testing::Contains(HasSubstr("limits.logBytes has no effect on Kubernetes")));
}

struct WrongField {
  const char* name;
  const char* pointer;  // Set to `value`.
  json value;
  const char* problem_pointer;
  const char* problem;  // A part of the sentence.
};

class JobProblemTest : public testing::TestWithParam<WrongField> {};

TEST_P(JobProblemTest, IsReportedOnceAtItsPointer) {
  const WrongField& wrong = GetParam();

  const ParsedJob job = ParseJob(With(wrong.pointer, wrong.value), Mode::kEmbedded);

  ASSERT_EQ(job.problems.size(), 1u) << Describe(job.problems);
  EXPECT_EQ(job.problems[0].pointer, wrong.problem_pointer);
  EXPECT_THAT(job.problems[0].detail, HasSubstr(wrong.problem));
}

INSTANTIATE_TEST_SUITE_P(
    , JobProblemTest,
    testing::Values(
        WrongField{"ZeroServers", "/spec/servers", 0, "/spec/servers",
                   "must be a whole number from 1 to 4096, not 0"},
        WrongField{"ZeroClusterServers", "/spec/cluster/servers", 0, "/spec/cluster/servers",
                   "must be a whole number from 1 to 131072, not 0"},
        WrongField{"MissingCommand", "/spec/command", nullptr, "/spec/command", "is required"},
        WrongField{"EmptyCommand", "/spec/command", json::array(), "/spec/command",
                   "must name a program"},
        WrongField{"CommandAsText", "/spec/command", "torchrun train.py", "/spec/command",
                   "must be a list of texts, not 'torchrun train.py'"},
        WrongField{"NumberInCommand",
                   "/spec/command",
                   {"sleep", 5},
                   "/spec/command/1",
                   "must be text (quote it), not 5"},
        WrongField{"TypingError", "/spec/rankPerServer", 8, "/spec/rankPerServer",
                   "unknown field, did you mean 'ranksPerServer'?"},
        WrongField{"UnknownField", "/spec/colour", "red", "/spec/colour", "Allowed: servers, "},
        WrongField{"UnknownPreset", "/spec/cluster/server/preset", "dgx-h10",
                   "/spec/cluster/server/preset", "'dgx-h10', did you mean 'dgx-h100'?"},
        WrongField{"WrongHostModel", "/spec/hostModel/kind", "exact", "/spec/hostModel/kind",
                   "Allowed: measured, counted, fixed"},
        WrongField{"UnknownJitter",
                   "/spec/hostModel/jitter",
                   {{"distribution", "normal"}},
                   "/spec/hostModel/jitter/distribution",
                   "Allowed: none, constant, exponential"},
        WrongField{"UnknownVariation", "/spec/variation", "some", "/spec/variation",
                   "Allowed: published, none"},
        WrongField{"JitterWithoutRate",
                   "/spec/hostModel/jitter",
                   {{"distribution", "constant"}, {"microseconds", 250}},
                   "/spec/hostModel/jitter/perSecond",
                   "is required"},
        WrongField{"WrongFolding",
                   "/spec/folding",
                   {{"mode", "always"}},
                   "/spec/folding/mode",
                   "Allowed: auto, off, required"},
        WrongField{"NothingLive",
                   "/spec/folding",
                   {{"livePerClass", 0}},
                   "/spec/folding/livePerClass",
                   "must be a whole number from 1 to 1024, not 0"},
        WrongField{"BothClusters",
                   "/spec/clusterRef",
                   {{"name", "a"}},
                   "/spec/cluster",
                   "cannot be given together with clusterRef"},
        WrongField{"NoCluster", "/spec/cluster", nullptr, "/spec/clusterRef", "is required"},
        WrongField{"ReservedVariable",
                   "/spec/env",
                   {{{"name", "LD_PRELOAD"}, {"value", "x"}}},
                   "/spec/env/0/name",
                   "'LD_PRELOAD' is set by Eidolon"},
        WrongField{"BadPattern",
                   "/spec/iterations/boundary",
                   {{"log", "step ("}},
                   "/spec/iterations/boundary/log",
                   "is not a regular expression"},
        WrongField{"TwoBoundaries",
                   "/spec/iterations/boundary",
                   {{"log", "a"}, {"nvtx", "b"}},
                   "/spec/iterations/boundary",
                   "exactly one of nvtx and log"},
        WrongField{"NothingToMeasure", "/spec/iterations/measure", 0, "/spec/iterations/measure",
                   "must be a whole number from 1"},
        WrongField{"BadName", "/metadata/name", "My Job", "/metadata/name", "lower-case"},
        WrongField{"WrongKind", "/kind", "SimulationJobs", "/kind",
                   "did you mean 'SimulationJob'?"},
        WrongField{"ShortLog", "/spec/limits/logBytes", 1000, "/spec/limits/logBytes", "1048576"},
        WrongField{"BadMemory", "/spec/limits/memoryPerServer", "lots",
                   "/spec/limits/memoryPerServer", "such as 16Gi"},
        WrongField{"FabricFaults",
                   "/spec/cluster/fabric/faults",
                   {{{"link", "leaf 0"}, {"atSeconds", 1}, {"capacityFactor", 1.5}}},
                   "/spec/cluster/fabric/faults/0/capacityFactor",
                   "from 0 to 1"},
        WrongField{"FaultWithoutTime",
                   "/spec/cluster/fabric/faults",
                   {{{"link", "leaf 0"}, {"capacityFactor", 0.5}}},
                   "/spec/cluster/fabric/faults/0/atSeconds",
                   "is required"},
        WrongField{"BackgroundWithoutSpeed",
                   "/spec/cluster/fabric/background",
                   {{{"from", 0}, {"to", 1}}},
                   "/spec/cluster/fabric/background/0/gbps",
                   "is required"},
        WrongField{"KubernetesCode",
                   "/spec/code/configMapRef",
                   {{"name", "a"}},
                   "/spec/code/configMapRef",
                   "exists on Kubernetes only"},
        WrongField{"SlashInName", "/spec/a~1b", 1, "/spec/a~1b", "unknown field"}),
    [](const auto& row) { return row.param.name; });

TEST(JobTest, ReadsWhatHappensToTheFabric) {
  json document = SmallJob();
  document["spec"]["cluster"]["servers"] = 4;
  document["spec"]["cluster"]["fabric"] = {
      {"routing", "ecmp"},
      {"spines", 4},
      {"faults", {{{"atSeconds", 1.5}, {"link", "leaf 3"}, {"capacityFactor", 0.5}}}},
      {"background", {{{"from", 2}, {"to", 3}, {"rail", 1}, {"gbps", 100}}}}};
  const ParsedJob job = ParseJob(document, Mode::kEmbedded);

  ASSERT_THAT(job.problems, IsEmpty()) << Describe(job.problems);
  const ClusterSpec& cluster = *job.spec.cluster;
  EXPECT_EQ(cluster.fabric.routing, cluster::Routing::kEcmp);
  EXPECT_EQ(cluster.fabric.spines, 4u);
  ASSERT_EQ(cluster.faults.size(), 1u);
  EXPECT_EQ(cluster.faults[0],
            (cluster::Fault{.at_seconds = 1.5, .link = "leaf 3", .capacity_factor = 0.5}));
  ASSERT_EQ(cluster.background.size(), 1u);
  EXPECT_EQ(cluster.background[0],
            (cluster::Background{.from = 2, .to = 3, .rail = 1, .gigabits_per_second = 100}));
  EXPECT_EQ(ToJson(cluster)["fabric"]["faults"], document["spec"]["cluster"]["fabric"]["faults"]);
}

TEST(JobTest, ReportsAllProblemsAtOnce) {
  json document = SmallJob();
  document["spec"]["servers"] = "two";
  document["spec"]["command"] = json::array();
  document["spec"]["hostmodel"] = "fixed";

  const ParsedJob job = ParseJob(document, Mode::kEmbedded);

  EXPECT_EQ(job.problems.size(), 3u) << Describe(job.problems);
}

TEST(JobTest, AnswersWhateverTheTreeIs) {
  for (const json& tree : {json(nullptr), json(1), json("x"), json::array(), json::object()}) {
    EXPECT_FALSE(ParseJob(tree, Mode::kEmbedded).problems.empty()) << tree;
    EXPECT_FALSE(ParseCluster(tree).problems.empty()) << tree;
  }
}

TEST(ClusterTest, PresetFillsTheServerAndFieldsOverrideIt) {
  const json document = {
      {"apiVersion", "eidolon.dev/v1alpha1"},
      {"kind", "SimulatedCluster"},
      {"metadata", {{"name", "pod"}}},
      {"spec", {{"servers", 16}, {"server", {{"preset", "dgx-a100"}, {"nics", {{"gbps", 100}}}}}}}};

  const ParsedCluster cluster = ParseCluster(document);

  ASSERT_THAT(cluster.problems, IsEmpty()) << Describe(cluster.problems);
  EXPECT_EQ(cluster.spec.gpu, "A100-SXM4-80GB");
  EXPECT_EQ(cluster.spec.nvlink_generation, 3u);
  EXPECT_EQ(cluster.spec.nic_count, 8u);
  EXPECT_EQ(cluster.spec.nic_gigabits_per_second, 100);
}

TEST(ClusterTest, CompleteDocumentReadsBackAsTheSameCluster) {
  const ParsedJob job = ParseJob(SmallJob(), Mode::kEmbedded);

  const json complete = ToJson(*job.spec.cluster);

  EXPECT_EQ(ParseJob(With("/spec/cluster", complete), Mode::kEmbedded).spec.cluster,
            job.spec.cluster);
}

std::vector<std::string> TwoGpus() { return {"A100-SXM4-80GB", "H100-SXM5-80GB"}; }

Problems ProblemsOfResolving(const json& document) {
  const ParsedJob job = ParseJob(document, Mode::kEmbedded);
  Problems problems = job.problems;
  Resolve(job.spec, nullptr, TwoGpus, &problems);
  return problems;
}

TEST(ResolveTest, NamesTheNearestGpu) {
  const Problems problems = ProblemsOfResolving(With("/spec/cluster/server/gpu", "H100-SXM-80GB"));

  EXPECT_THAT(problems, ElementsAre(Problem{
                            "/spec/cluster/server/gpu",
                            "no GPU model 'H100-SXM-80GB', did you mean 'H100-SXM5-80GB'? Known: "
                            "A100-SXM4-80GB, H100-SXM5-80GB"}));
}

TEST(ResolveTest, APartOfAGpusNameSuggestsAllThatHaveIt) {
  const std::vector<std::string> names = {"A100-SXM4-40GB", "A100-SXM4-80GB", "B200-SXM-180GB",
                                          "GB200-SXM-186GB"};

  EXPECT_EQ(DidYouMeanOneOf("a100", names), ", did you mean 'A100-SXM4-40GB' or 'A100-SXM4-80GB'?");
  EXPECT_EQ(DidYouMeanOneOf("B200", names), ", did you mean 'B200-SXM-180GB'?");
  EXPECT_EQ(DidYouMeanOneOf("b200-sxm-180g", names), ", did you mean 'B200-SXM-180GB'?");
  EXPECT_EQ(DidYouMeanOneOf("a100-sxm4-81gb", names), ", did you mean 'A100-SXM4-80GB'?");
  EXPECT_EQ(DidYouMeanOneOf("Voodoo2", names), "");
}

TEST(ResolveTest, RefusesMoreServersThanTheClusterHas) {
  const Problems problems = ProblemsOfResolving(With("/spec/servers", 3));

  EXPECT_THAT(problems,
              ElementsAre(Problem{"/spec/servers", "is 3, but the cluster has 2 server(s)"}));
}

TEST(ResolveTest, AJobOnAHugeClusterSaysHowManyServersItTakes) {
  EXPECT_THAT(ProblemsOfResolving(With("/spec/cluster/servers", 4096)), IsEmpty());
  const Problems problems = ProblemsOfResolving(With("/spec/cluster/servers", 8192));

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/servers");
  EXPECT_THAT(problems[0].detail, HasSubstr("a job runs on at most 4096"));
}

TEST(ResolveTest, RefusesMoreRanksThanGpus) {
  const Problems problems = ProblemsOfResolving(With("/spec/ranksPerServer", 9));

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].pointer, "/spec/ranksPerServer");
}

TEST(ResolveTest, AnInlineClusterIsAsLargeAsTheJobUnlessItSaysOtherwise) {
  json document = SmallJob();
  document["spec"]["cluster"].erase("servers");
  document["spec"]["servers"] = 4;
  Problems problems;

  const ParsedJob job = ParseJob(document, Mode::kEmbedded);
  const ResolvedJob resolved = Resolve(job.spec, nullptr, TwoGpus, &problems);

  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(resolved.servers, 4u);
  EXPECT_EQ(resolved.ranks(), 32u);
  EXPECT_EQ(resolved.cluster.servers, 4u);
}

}  // namespace
}  // namespace eidolon::controller::job
