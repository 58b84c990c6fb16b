// Any bytes as what a controller answers: problems, documents to report, a stream of events.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "services/base/check.h"
#include "services/cli/client.h"
#include "services/cli/follow.h"
#include "services/cli/report.h"
#include "services/cli/what_if.h"
#include "services/controller/page/report_file.h"
#include "services/controller/shown/comparison.h"
#include "services/controller/shown/comparison_text.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"

namespace {

namespace cli = eidolon::cli;
namespace shown = eidolon::controller::shown;

// Document with which others are compared.
constexpr const char* kOther = R"({
  "spec": {"command": ["python"], "servers": 2},
  "status": {"prediction": {
    "iterationSeconds": {"mean": 1, "low": 0.9, "high": 1.1},
    "breakdown": {"host": 1},
    "kernels": [{"name": "gemm", "seconds": 1},
                {"name": "collective", "family": "ring", "seconds": 0.5}],
    "target": {"ranks": 2, "cluster": {"servers": 2}}}}})";

void Show(const nlohmann::json& document) {
  shown::PhaseOf(document);
  CHECK(!cli::FormatReport(document).empty());
  CHECK(!cli::FormatTable({document}).empty());
  cli::FormatProgress(document);
  CHECK(!cli::FormatWhatIfs(document).empty());
  const nlohmann::json other = nlohmann::json::parse(kOther);
  for (const auto& [one, two] : {std::pair(&document, &other), std::pair(&other, &document)}) {
    CHECK(!shown::FormatComparison(shown::CompareJobs(*one, *two)).empty());
  }
  CHECK(shown::CompareJobs(document, document)["fields"].empty());
  const std::string report = eidolon::controller::page::ReportFile(
      document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  const std::size_t data = report.find("id=\"data\">") + 10;
  CHECK(report.find('<', data) == report.find("</script>", data));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CHECK(!cli::DescribeProblem(422, text).empty());
  Show(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false));
  // A terminal is given nothing that it obeys, however the text is cut.
  shown::Printable printable;
  std::string printed = printable.Add(std::string_view(text).substr(0, size / 2));
  printed += printable.Add(std::string_view(text).substr(size / 2));
  printed += printable.Finish();
  CHECK(printed == shown::ToPrintable(text));
  CHECK(std::ranges::none_of(printed, [](char c) {
    return c != '\n' && c != '\t' && (c == 0x7f || (c >= 0 && c < 0x20));
  }));
  cli::EventSplitter events;
  cli::EventSplitter::Event event;
  constexpr std::size_t kPart = 40;  // What comes at once is not a multiple of an event.
  for (std::size_t at = 0; at < text.size(); at += kPart) {
    events.Add(std::string_view(text).substr(at, kPart));
    while (events.Next(&event)) {
      if (event.type != "status") continue;
      Show(nlohmann::json::parse(event.data, nullptr, /*allow_exceptions=*/false));
    }
  }
  return 0;
}
