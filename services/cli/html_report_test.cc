#include "services/cli/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "services/cli/html.h"

namespace eidolon::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json JobOf(const std::string& text) {
  return {{"metadata", {{"name", text}}},
          {"spec", {{"command", {text}}, {"code", {{"directory", text}}}}},
          {"status",
           {{"phase", "Complete"},
            {"warnings", {text}},
            {"conditions",
             {{{"type", "Complete"}, {"status", "True"}, {"reason", text}, {"message", text}}}},
            {"prediction",
             {{"iterationSeconds", {{"mean", 2.431}, {"low", 2.33}, {"high", 2.53}}},
              {"iterationPicoseconds", {2430000000000, 2432000000000}},
              {"tokensPerSecond", 53916.3},
              {"breakdown", {{"compute", 0.81}, {"idle", 0.19}}},
              {"coverage", {{"modelled", 0.998}, {"assumed", 0.002}}},
              {"target",
               {{"servers", 2},
                {"ranks", 16},
                {"cluster", {{"server", {{"gpu", text}, {"gpusPerServer", 8}}}}}}},
              {"kernels",
               {{{"name", text},
                 {"family", text},
                 {"source", text},
                 {"seconds", 1.0},
                 {"launches", 4}}}},
              {"unsupportedCalls", {{{"name", text}, {"count", 1}}}},
              {"unknownReadSources", {{{"writer", text}, {"line", text}, {"reads", 3}}}}}}}}};
}

TEST(HtmlReportTest, ShowsTheFiguresOfTheDocument) {
  const std::string report = FormatHtmlReport(JobOf("llama"), "1.2", {});

  for (const char* part : {"<title>llama", "2.431 s", "2.330 s and 2.530 s", "53 916 tokens/s",
                           "81.0 %", "0.2 % is assumed", "16 ranks", "Eidolon 1.2"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
}

TEST(HtmlReportTest, AsksNobodyAndRunsNothing) {
  const std::string report = FormatHtmlReport(JobOf("llama"), "1.2", {});

  for (const char* part : {"http://", "https://", "<script", "<link", "<img", "@import", "url("}) {
    EXPECT_THAT(report, Not(HasSubstr(part)));
  }
  EXPECT_THAT(report, HasSubstr("default-src 'none'"));
}

TEST(HtmlReportTest, TextOfTheDocumentStaysText) {
  const std::string report = FormatHtmlReport(
      JobOf("</title></style><img src=x onerror=alert(1)>\"'&\x1b[2J\xe2\x80\xae"), "1", {});

  EXPECT_THAT(report, Not(HasSubstr("<img")));
  EXPECT_THAT(report, Not(HasSubstr("\x1b")));
  EXPECT_THAT(report, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(report, HasSubstr("&lt;/title&gt;&lt;/style&gt;&lt;img src=x "
                                "onerror=alert(1)&gt;&quot;&#39;&amp;\\x1b[2J"));
}

TEST(HtmlReportTest, ListsWhatWouldHelp) {
  const json answers = json::parse(R"({"iterationSeconds": 2.0, "whatIfs": [
      {"name": "GPU <B200>", "iterationSeconds": 1.0, "change": -0.5, "fits": false},
      {"name": "NICs", "message": "too <few>"}]})");

  const std::string report = FormatHtmlReport(JobOf("llama"), "1", answers);

  for (const char* part :
       {"as it is, an iteration takes 2.000 s", "GPU &lt;B200&gt; (its memory is", "1.000 s",
        "-50.0 %", "NICs – not answered: too &lt;few&gt;"}) {
    EXPECT_THAT(report, HasSubstr(part));
  }
}

TEST(HtmlReportTest, StaysSmallWithLongTexts) {
  EXPECT_LT(FormatHtmlReport(JobOf(std::string(1u << 20, '<')), "1", {}).size(), 1u << 21);
}

TEST(HtmlReportTest, AJobThatFailedSaysFirstWhyAndHasNoLargeFigure) {
  json job = JobOf("llama");
  job["status"]["phase"] = "Failed";
  job["status"]["conditions"] = {
      {{"type", "Failed"},
       {"status", "True"},
       {"reason", "CommandFailed"},
       {"message",
        "exit status 1: ValueError: no (a.py:3); last lines of its error output:\n"
        "Traceback\n  <b>"}}};

  const std::string report = FormatHtmlReport(job, "1", {});

  EXPECT_THAT(report, HasSubstr("<h2>Failed: CommandFailed</h2><p class=\"message\">exit status 1: "
                                "ValueError: no (a.py:3)</p>"));
  EXPECT_THAT(report, HasSubstr("\nTraceback\n  &lt;b&gt;</pre>"));
  EXPECT_THAT(report, Not(HasSubstr("class=\"large\"")));
  EXPECT_THAT(report, HasSubstr("Until it failed"));
}

TEST(HtmlReportTest, DrawsThePeaksOfTenThousandIterationsAndStaysSmall) {
  json job = JobOf("llama");
  json& times = job["status"]["prediction"]["iterationPicoseconds"];
  times = std::vector<std::uint64_t>(10'000, 2'430'000'000'000);
  const std::size_t even = FormatHtmlReport(job, "1", {}).size();
  times[6543] = 9'000'000'000'000;

  const std::string report = FormatHtmlReport(job, "1", {});

  EXPECT_LT(report.size(), 1u << 17);
  EXPECT_THAT(report, HasSubstr("10000 measured iterations, from 2.430 s to 9.000 s"));
  // The line reaches from the least to the most of each column.
  EXPECT_THAT(report, HasSubstr("V27.67L"));
  EXPECT_THAT(report, Not(HasSubstr("more bytes")));
  EXPECT_LT(report.size(), even + 1000);
}

TEST(HtmlReportTest, TakesDocumentsOfAnotherShape) {
  EXPECT_THAT(FormatHtmlReport(json::array(), "1", {}), HasSubstr("Nothing was predicted"));
  EXPECT_NO_THROW(
      FormatHtmlReport({{"status", {{"prediction", {{"kernels", 1}, {"memory", "x"}}}}}}, "1", {}));
}

TEST(HtmlTest, CutsLongTextsBetweenCharacters) {
  EXPECT_EQ(html::Escape("a\xc3\xa9z", 2), "a... (3 more bytes)");
}

}  // namespace
}  // namespace eidolon::cli
