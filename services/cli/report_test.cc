#include "services/cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/cli/client.h"
#include "services/cli/report_figures.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {
namespace {

using controller::shown::FormatCount;
using controller::shown::FormatSpan;
using ::testing::HasSubstr;
using ::testing::Not;

using nlohmann::json;

json CompleteJob() {
  return json::parse(R"({
    "metadata": {"name": "llama", "namespace": "default",
                 "creationTimestamp": "2026-11-21T10:00:00Z"},
    "status": {
      "phase": "Complete",
      "conditions": [
        {"type": "Accepted", "status": "True", "reason": "Valid", "message": ""},
        {"type": "Running", "status": "False", "reason": "Finished", "message": ""},
        {"type": "Complete", "status": "True", "reason": "IterationsMeasured",
         "message": "5 iterations were measured"}],
      "warnings": ["outputs.timeline has no effect yet"],
      "progress": {"iteration": 8, "of": 8, "percent": 100, "remainingSeconds": 0,
                   "virtualSeconds": 19.8, "launches": 1000},
      "prediction": {
        "measuredIterations": 5,
        "iterationSeconds": {"mean": 2.431, "p50": 2.43, "p90": 2.437, "low": 2.33, "high": 2.53},
        "steadyIteration": {"seconds": 2.43, "low": 2.33, "high": 2.53, "count": 5},
        "throughput": {"unit": "tokens", "perSecond": 53916.3, "low": 51785.4, "high": 56230.5,
                       "perIteration": 131016.6},
        "tokensPerSecond": 53916.3, "modelFlopsUtilization": 0.412,
        "breakdown": {"compute": 0.81, "exposedCommunication": 0.12, "idle": 0.03, "host": 0.04},
        "memory": {"peakBytes": 61203283968, "peakReservedBytes": 66571993088,
                   "capacityBytes": 85024112640, "fits": true, "worstRank": 1,
                   "byCategory": {"allocations": 61203283968, "workspace": 0, "nccl": 4831838208,
                                  "context": 536870912},
                   "ranks": [{"rank": 0, "peakBytes": 1, "peakReservedBytes": 64424509440},
                             {"rank": 1, "peakBytes": 1, "peakReservedBytes": 66571993088}]},
        "coverage": {"measured": 0.0, "interpolated": 0.71, "modelled": 0.288, "assumed": 0.002},
        "unsupportedCalls": [{"name": "cufftExecC2C", "count": 3}],
        "unknownReads": 6,
        "unknownReadSources": [
          {"writer": "at::native::reduce_kernel<512, 1>", "pointer": 1, "line": "train.py:40",
           "given": "zero", "reads": 5, "bytes": 20},
          {"writer": "cublas.nrm2", "pointer": 0, "given": "zero", "reads": 1, "bytes": 4}],
        "unusedDeclarations": ["values.declared[0] (kernel norm\u0029"]},
      "simulation": {
  "wallSeconds" : 83, "slowdown" : 4.19
}
}
})");
}

TEST(ReportTest, ATextOfAProgramStaysOnItsLine) {
  json job = CompleteJob();
  json& status = job["status"];
  status["phase"] = "Failed";
  status["conditions"] = {
      {{"type", "Failed"},
       {"status", "True"},
       {"reason", "CommandFailed"},
       {"message",
        "ValueError: a\nb  Complete; last lines of its error output:\nother  Complete"}}};
  status["warnings"] = {"one\nother  Complete"};

  const std::string report = FormatReport(job);

  EXPECT_NE(report.find("  Failed  CommandFailed: ValueError: a\\x0ab  Complete; last lines of its "
                        "error output:\n    | other  Complete\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("  warning: one\\x0aother  Complete\n"), std::string::npos) << report;
}

TEST(ReportTest, NamesTheHardwareAndWhatTakesLongest) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["target"] = json::parse(R"({"servers": 2, "ranks": 1024, "cluster": {
    "server": {"gpu": "H100-SXM5-80GB", "gpusPerServer": 8, "nics": {"count": 8, "gbps": 400}},
    "fabric": {"preset": "rail-optimised"}}})");
  prediction["kernels"] = json::parse(R"([
    {"name": "gemm 8192x8192x2048", "family": "gemm", "source": "modelled", "seconds": 0.3},
    {"name": "collective", "family": "nccl ring simple", "source": "modelled", "seconds": 0.1},
    {"name": "void at::native::vectorized<MulFunctor>", "family": "elementwise",
     "source": "modelled", "seconds": 0.0, "operator": "aten::mul"}])");

  const std::string report = FormatReport(job);

  EXPECT_NE(report.find("  on               H100-SXM5-80GB   2 servers x 8 GPUs, 1 024 ranks   "
                        "rail-optimised, 8 x 400 Gbit/s a server\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("  longest            75.0 %  gemm 8192x8192x2048   modelled\n"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("25.0 %  nccl ring simple   modelled\n"), std::string::npos) << report;
  EXPECT_NE(report.find("%  aten::mul   modelled\n"), std::string::npos) << report;
}

TEST(ReportTest, APriceGivesTheCostOfAStepAndOfAMillionTokens) {
  json prediction = json::parse(R"({
    "target": {"gpus": 16}, "iterationSeconds": {"mean": 0.5},
    "steadyIteration": {"seconds": 0.45, "low": 0.4, "high": 0.5},
    "throughput": {"unit": "tokens", "perSecond": 200000}})");

  EXPECT_EQ(FormatPrice(prediction, 2.5),
            "  cost             0.005 a step   0.05556 a million tokens   at 2.5 a GPU and hour, "
            "16 GPUs\n");
  prediction["throughput"] = {{"unit", "samples"}, {"perSecond", 400}};
  EXPECT_NE(FormatPrice(prediction, 2.5).find("0.02778 a thousand samples"), std::string::npos);
  EXPECT_EQ(FormatPrice(prediction, 0), "") << "no price is given";
  EXPECT_EQ(FormatPrice(json::object(), 2.5), "");
}

TEST(ReportTest, SaysThatFixedDurationsAreNoPrediction) {
  json job = CompleteJob();
  job["status"]["prediction"]["target"] = json::parse(R"({"servers": 1, "ranks": 1, "cluster": {
    "server": {"gpu": "fixed-h100", "gpusPerServer": 1}}})");

  const std::string report = FormatReport(job);

  EXPECT_NE(report.find("fixed-h100 (fixed durations: not a prediction)   1 server"),
            std::string::npos)
      << report;
}

TEST(ReportTest, SaysWhatTheGpusDraw) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["throughput"]["unit"] = "tokens";
  prediction["energy"] = json::parse(
      R"({"joules": 12345.0, "joulesPerUnit": 0.0942, "meanWatts": 634.6, "peakWatts": 691.2})");

  EXPECT_NE(
      FormatReport(job).find("  energy           1.234e+04 J an iteration, 0.0942 J a token   "
                             "635 W a GPU, peak 691 W\n"),
      std::string::npos)
      << FormatReport(job);
  prediction.erase("energy");
  EXPECT_EQ(FormatReport(job).find("energy"), std::string::npos);
}

TEST(ReportTest, SaysHowMuchWorkItIsAndWhatLiesInMemory) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["matrixFlops"] = json::parse(R"({"perGpu": 1.0e15, "perGpuAndSecond": 4.12e14,
                                              "peakPerSecond": 989.4e12, "utilization": 0.4164})");
  prediction["memory"]["allocations"] = json::parse(R"({
      "parameters": 2147483648, "gradients": 2147483648, "optimizerState": 4294967296,
      "other": 52613349376})");
  job["status"]["simulation"]["machine"] = {{"processors", 2}, {"busyShare", 0.971}};

  const std::string report = FormatReport(job);

  EXPECT_NE(
      report.find("  matrix work      412.0 TFLOP/s a GPU, 41.6 % of 989 (bf16)   1e+03 TFLOP "
                  "counted in GEMMs, convolutions and attention\n"),
      std::string::npos)
      << report;
  EXPECT_NE(
      report.find("of the program: parameters 2.0 GiB, gradients 2.0 GiB, optimizer state 4.0 "
                  "GiB, activations and other 49.0 GiB\n"),
      std::string::npos)
      << report;
  prediction["memory"]["allocations"] = {{"activations", 3 << 29}, {"other", 1 << 29}};
  EXPECT_NE(
      FormatReport(job).find(
          "of the program: activations at most 1.5 GiB, other 512.0 MiB\n"
          "                   (derived from what backward passes free in PyTorch's allocator)"),
      std::string::npos)
      << FormatReport(job);
  EXPECT_NE(report.find(": slow-down 4.19   on 2 processors, 97.1 % busy\n"), std::string::npos)
      << report;
}

TEST(ReportTest, SaysWhichGpusAreUnusedOnceTheJobIsOver) {
  json job = CompleteJob();
  json& target = job["status"]["prediction"]["target"];
  target = json::parse(R"({"servers": 1, "ranks": 8, "gpus": 8, "usedGpus": 1, "cluster": {
    "server": {"gpu": "H100-SXM5-80GB", "gpusPerServer": 8, "nvlink": {"generation": 4}}}})");

  EXPECT_NE(FormatReport(job).find(
                "8 ranks   NVLink 4\n"
                "  unused           7 of 8 GPUs: the program has reserved memory on 1 only\n"),
            std::string::npos)
      << FormatReport(job);
  job["status"]["phase"] = "Running";
  EXPECT_EQ(FormatReport(job).find("unused"), std::string::npos);
  job["status"]["phase"] = "Complete";
  target["usedGpus"] = 0;
  EXPECT_NE(FormatReport(job).find("all 8 GPUs: the program has reserved memory on none"),
            std::string::npos);
  target["usedGpus"] = 8;
  EXPECT_EQ(FormatReport(job).find("unused"), std::string::npos);
}

TEST(ReportTest, TellsEverythingOfACompleteJob) {
  EXPECT_EQ(FormatReport(CompleteJob()),
            R"(llama  Complete  IterationsMeasured: 5 iterations were measured
  warning: outputs.timeline has no effect yet
  throughput       53 916 tokens/s   90 % band 51 785 to 56 230   model FLOPs utilization 41.2 %
  iteration        2.430 s   90 % band 2.330 s to 2.530 s   p50 2.430 s   p90 2.437 s
    compute          81.0 %  ███████████████████
    exposed comm.    12.0 %  ███
    idle              3.0 %  █
    host              4.0 %  █
  peak memory      62.0 GiB of 79.2 GiB on rank 1   fits
                   program 57.0 GiB, workspace 0 B, NCCL 4.5 GiB, context 512.0 MiB
    by rank        0: 60.0 GiB  1: 62.0 GiB
  coverage         measured 0.0 %   interpolated 71.0 %   modelled 28.8 %   assumed 0.2 %
  refused calls    cufftExecC2C x3
  unknown reads    6
                   5 x zero at train.py:40: at::native::reduce_kernel<512, 1>
                   1 x zero: cublas.nrm2
                   say what they read: values: {declared: [{line: FILE.py:N, value: 1}]}
                   never read: values.declared[0] (kernel norm)
  simulation       83.00 s wall for 19.80 s virtual: slow-down 4.19
)");
}

TEST(ReportTest, SaysThatNoIterationRepeatsWhereFewAreNearTheMedian) {
  json job = CompleteJob();
  json& steady = job["status"]["prediction"]["steadyIteration"];
  steady["alike"] = 2;
  EXPECT_NE(FormatReport(job).find(
                "no iteration repeats: 2 of 5 are within a twentieth of this median\n"),
            std::string::npos);
  steady["alike"] = 3;
  EXPECT_EQ(FormatReport(job).find("no iteration repeats"), std::string::npos);
  steady.erase("alike");
  EXPECT_EQ(FormatReport(job).find("no iteration repeats"), std::string::npos) << "not known";
}

TEST(ReportTest, SaysWhenTheMeanStandsForNoIterationAndWhatTheOddOneDid) {
  json job = CompleteJob();
  job["status"]["prediction"]["iterationSeconds"]["p50"] = 0.082;
  job["status"]["prediction"]["unevenIterations"] = json::parse(R"({
      "count": 2, "otherIterationsSeconds": 0.0825, "iterations": [
        {"iteration": 6, "seconds": 2.232,
         "more": {"compute": 0.15, "exposedCommunication": 0, "idle": 0.01, "host": 1.98,
                  "copiesToHost": 0.14, "copiesToDevice": 0}},
        {"iteration": 8, "seconds": 0.042, "more": {"compute": -0.03, "host": 0.001}}]})");

  const std::string report = FormatReport(job);

  EXPECT_NE(report.find(R"(
  uneven           2 of 5 iterations are far from the median, 82.00 ms; the others take 82.50 ms
                   iteration 6: 2.232 s, 2.150 s more: host 1.980 s, compute 150.0 ms)"
                        R"(; copies to the host 140.0 ms
                   iteration 8: 42.00 ms, 40.00 ms less: compute 30.00 ms
    compute )"),
            std::string::npos)
      << report;
}

TEST(ReportTest, TokensSayWhereTheyComeFromOrWhyTheyAreNotKnown) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["tokensSource"] = "declared";
  prediction["tokensPerIteration"] = 131072;
  prediction["tokensDerived"] = 131072;
  const std::string declared = FormatReport(job);
  prediction["tokensDerived"] = 262144;
  const std::string contradicted = FormatReport(job);
  prediction["tokensSource"] = "derived";
  prediction["modelFlopsSource"] = "derived";
  const std::string derived = FormatReport(job);
  for (const char* key : {"tokensPerSecond", "tokensSource", "tokensDerived"}) {
    prediction.erase(key);
  }
  prediction["tokensNotDerived"] = "no launch looks up rows";
  prediction["throughput"] = json::parse(R"({"unit": "iterations", "perSecond": 0.41152})");
  const std::string unknown = FormatReport(job);
  prediction["throughput"] =
      json::parse(R"({"unit": "samples", "perSecond": 105.35, "low": 101.19, "high": 109.9,
                      "perIteration": 256, "source": "derived"})");
  const std::string samples = FormatReport(job);

  const std::string utilization = "model FLOPs utilization 41.2 %";
  EXPECT_THAT(declared, HasSubstr(utilization + "\n"));
  EXPECT_THAT(
      contradicted,
      HasSubstr(utilization + "   launches tell 262 144 tokens an iteration, not 131 072\n"));
  EXPECT_THAT(
      derived,
      HasSubstr(utilization + " (derived)   131 072 tokens an iteration, derived from launches\n"));
  EXPECT_THAT(unknown, HasSubstr("throughput       0.4115 iterations/s   model FLOPs"));
  EXPECT_THAT(unknown,
              HasSubstr("\n                   tokens/s and samples/s are unknown: no launch "
                        "looks up rows; declare --tokens or --samples\n"));
  EXPECT_THAT(samples, HasSubstr("throughput       105.3 samples/s   90 % band 101.2 to 109.9   "
                                 "model FLOPs utilization 41.2 % (derived)   256 samples an "
                                 "iteration, derived from launches\n"));
}

TEST(ReportTest, TheHeadlineIsTheSteadyIterationBesideThePriceOfExtraWork) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["iterationSeconds"]["mean"] = 2.51;
  prediction["extraWork"] = json::parse(R"([
      {"what": "evaluation", "times": 2, "every": 50, "seconds": 3.5, "secondsPerIteration": 0.07},
      {"what": "checkpoint", "times": 1, "seconds": 0.05, "secondsPerIteration": 0.01}])");

  EXPECT_THAT(FormatReport(job),
              HasSubstr("  iteration        2.430 s   90 % band 2.330 s to 2.530 s   p50 2.430 s   "
                        "p90 2.437 s\n"
                        "                   + evaluation every 50 steps: 70.00 ms a step on "
                        "average, 3.500 s each time\n"
                        "                   + checkpoint in 1 of 5 steps: 10.00 ms a step on "
                        "average, 50.00 ms each time\n"
                        "                   mean of all measured steps: 2.510 s\n"));
}

TEST(ReportTest, AProgramWithoutIterationsHasATimeOfItsOwn) {
  json job = CompleteJob();
  json& prediction = job["status"]["prediction"];
  prediction["measuredIterations"] = 0;
  for (const char* key :
       {"iterationSeconds", "steadyIteration", "throughput", "tokensPerSecond", "memory",
        "unknownReads", "unknownReadSources", "unusedDeclarations", "unsupportedCalls"}) {
    prediction.erase(key);
  }
  prediction["program"] =
      json::parse(R"({"seconds": 1.25, "low": 1.1, "high": 1.4, "launches": 12345})");

  const std::string report = FormatReport(job);

  EXPECT_NE(report.find(R"(
  whole program    1.250 s   90 % band 1.100 s to 1.400 s   12 345 launches
    compute          81.0 %  ███████████████████
)"),
            std::string::npos)
      << report;
  EXPECT_EQ(report.find("iteration "), std::string::npos) << report;
  job["status"]["phase"] = "Failed";
  EXPECT_NE(FormatReport(job).find("\n  until it failed  1.250 s   90 % band"), std::string::npos)
      << FormatReport(job);
}

TEST(ReportTest, AFoldedJobSaysWhatRanAndWhatWasTakenFromIt) {
  json job = CompleteJob();
  json& folding = job["status"]["prediction"]["folding"];
  folding = json::parse(R"({"ranks": 1024, "live": [0, 1023], "mirrored": 1022, "classes": 1})");
  const std::string plain = FormatReport(job);
  folding["classes"] = 4;
  folding["guessedCollectives"] = 3;
  const std::string guessed = FormatReport(job);

  EXPECT_NE(plain.find("\n  folded           1024 ranks: 2 live (0, 1023), 1022 mirrored\n"),
            std::string::npos)
      << plain;
  EXPECT_NE(
      guessed.find("1022 mirrored in 4 classes\n                   3 collective(s) with values "
                   "of mirrored ranks that were taken from a live one\n"),
      std::string::npos)
      << guessed;
}

TEST(ReportTest, AFoldedJobNamesTheLinesOfWhatWasGuessedAndDiffered) {
  json job = CompleteJob();
  job["status"]["prediction"]["folding"] = json::parse(R"({
      "ranks": 8, "live": [0, 7], "mirrored": 6, "classes": 1, "guessedCollectives": 2,
      "guessedCallSites": [{"where": "train.py:40", "times": 2}], "workDifferencesTotal": 7,
      "workDifferences": [{"where": "rank 0 launches 1", "times": 7}]})");
  const std::string report = FormatReport(job);

  const std::string indent(19, ' ');
  EXPECT_NE(report.find("\n" + indent + "  train.py:40 (2x)\n" + indent +
                        "between 7 calls of NCCL, live ranks that are taken to be alike launched "
                        "other work\n" +
                        indent + "  rank 0 launches 1 (7x)\n"),
            std::string::npos)
      << report;
}

TEST(ReportTest, TellsTheGpusOfARankThatUsesSeveral) {
  json job = CompleteJob();
  job["status"]["prediction"]["memory"]["ranks"] = json::parse(R"([
      {"rank": 0, "device": 0, "peakReservedBytes": 1073741824},
      {"rank": 0, "device": 1, "peakReservedBytes": 2147483648},
      {"rank": 2, "peakReservedBytes": 3221225472}])");

  EXPECT_NE(FormatReport(job).find("0 GPU 0: 1.0 GiB  0 GPU 1: 2.0 GiB  2: 3.0 GiB\n"),
            std::string::npos)
      << FormatReport(job);
}

TEST(ReportTest, AFailedJobShowsItsReasonFirst) {
  const json job = json::parse(R"({"metadata": {"name": "big"}, "status": {"phase": "Failed",
      "conditions": [{"type": "Failed", "status": "True", "reason": "OutOfMemory",
                      "message": "rank 1 ran out of device memory"}]}})");

  EXPECT_EQ(FormatReport(job), "big  Failed  OutOfMemory: rank 1 ran out of device memory\n");
}

TEST(ReportTest, NeverFailsOnDocumentsOfAnotherShape) {
  for (const char* text :
       {"null", "[]", "{}", R"({"status": 3})", R"({"status": {"conditions": {}, "progress": []}})",
        R"({"metadata": [],
            "status": {"prediction": {"memory": {"ranks": 1}, "coverage": "x"}}})",
        R"({"status": {"progress": {"remainingSeconds": 1e300, "percent": -1e9},
            "prediction": {"iterationSeconds": {},
                           "unevenIterations": {"count": -1e300, "iterations": [3]},
                           "memory": {"peakReservedBytes": 1e300, "worstRank": -1e9,
                                  "ranks": [{"rank": 1e300}, {"peakReservedBytes": -1}]}}}})"}) {
    const json job = json::parse(text);
    EXPECT_FALSE(FormatReport(job).empty());
    EXPECT_FALSE(FormatTable({job}).empty());
    EXPECT_FALSE(FormatProgress(job).empty());
  }
}

TEST(ReportTest, AProblemOfAnotherShapeIsShownAsFarAsItIsText) {
  EXPECT_EQ(DescribeProblem(422, R"({"errors": [3, {"pointer": "/a", "detail": 4}]})"),
            "the document was refused:\n  : \n  /a: ");
  EXPECT_EQ(DescribeProblem(500, R"({"detail": 5})"), "the controller answered 500");
  EXPECT_EQ(DescribeProblem(404, R"({"detail": "no job 'a'"})"), "no job 'a'");
}

TEST(ReportTest, AssumedKernelsAreCountedBesideTheirShare) {
  const json job = json::parse(R"({"metadata": {"name": "j"}, "status": {"prediction": {
      "coverage": {"modelled": 1.0, "assumed": 0.0},
      "kernels": [{"name": "gemm", "source": "measured", "launches": 9, "seconds": 1.0},
                  {"name": "fwd", "source": "assumed", "launches": 32, "seconds": 6.4e-05}]}}})");
  const std::string report = FormatReport(job);
  EXPECT_NE(report.find("32 launches of 1 kernel whose length is a guess"), std::string::npos)
      << report;
  EXPECT_NE(report.find("32 x fwd, 64.00 us in all"), std::string::npos) << report;
  EXPECT_EQ(report.find("gemm, "), std::string::npos) << report;
}

TEST(ReportTest, ProgressLineHasABarAndTheRemainingTime) {
  const json job = json::parse(R"({"metadata": {"name": "llama"}, "status": {"progress":
      {"iteration": 4, "of": 8, "percent": 50, "remainingSeconds": 200, "virtualSeconds": 9.8}}})");

  EXPECT_EQ(
      FormatProgress(job),
      "llama  iteration 4 of 8  [==========..........]  50 %  3 min 20 s left  virtual 9.800 s");
}

TEST(ReportTest, ProgressLineBeforeAnIterationSaysWhatHasNoAnswer) {
  json job = json::parse(R"({"metadata": {"name": "llama"}, "status": {
      "progress": {"iteration": 0, "of": 3, "percent": 0, "virtualSeconds": 9.8, "launches": 12345},
      "prediction": {"unknownReads": 2, "unknownReadSources": [{"line": "train.py:40"}],
                     "unsupportedCalls": [{"name": "cufftExecC2C", "count": 3}]}}})");
  EXPECT_EQ(FormatProgress(job),
            "llama  iteration 0 of 3  [....................]  0 %  virtual 9.800 s; 12 345 "
            "launches; 2 unknown reads, most at train.py:40; 'cufftExecC2C' is not supported");

  job["status"]["progress"]["iteration"] = 1;
  EXPECT_EQ(FormatProgress(job).find("launches"), std::string::npos);
}

TEST(ReportTest, ProgressLineSaysWhatIsWaitedFor) {
  const json job = json::parse(R"({"metadata": {"name": "llama"}, "status": {"progress":
      {"iteration": 1, "of": 3, "waiting": "rank 0 (pid 7, python) sleeps"}}})");
  EXPECT_TRUE(FormatProgress(job).ends_with("; nothing moves: rank 0 (pid 7, python) sleeps"));
}

TEST(ReportTest, TableHasALinePerJob) {
  EXPECT_EQ(FormatTable({CompleteJob()}),
            "NAMESPACE   NAME    STATE      PROGRESS   ITERATION   THROUGHPUT        CREATED\n"
            "default     llama   Complete   8/8        2.430 s     53 916 tokens/s   "
            "2026-11-21T10:00:00Z\n");
}

TEST(ReportTest, NumbersAreShortAndExactEnough) {
  EXPECT_EQ(FormatSpan(7500), "2 h 5 min");
  EXPECT_EQ(FormatCount(1234567), "1 234 567");
}

void Spoil(const std::string& text, json* value) {
  if (value->is_string()) *value = text;
  if (!value->is_structured()) return;
  for (json& inner : *value) Spoil(text, &inner);
}

// But a condition's message, which may have several lines.
TEST(ReportTest, NoTextOfAPredictionForgesALine) {
  json job = CompleteJob();
  Spoil("x\nforged\r\x1b[2J", &job["status"]["prediction"]);

  EXPECT_THAT(FormatReport(job), HasSubstr("\\x0aforged"));
  EXPECT_THAT(FormatReport(job), Not(HasSubstr("\nforged")));
}

}  // namespace
}  // namespace eidolon::cli
