// The controller has computed and ordered the entries; this file only chooses how many of them fit
// a screen. Without a critical path (outputs.timeline makes one) the section is empty. It covers
// one iteration or the whole program, and it may lack operations that were left out of the
// timeline: the line about its extent says so, as the figures mean little without it.
#include "services/cli/report_path.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/kernel_title.h"
#include "services/controller/shown/report_line.h"

namespace eidolon::cli {

using base::StrCat;
using controller::shown::At;
using controller::shown::CountAt;
using controller::shown::FormatCount;
using controller::shown::KernelTitle;
using controller::shown::Line;
using controller::shown::NumberAt;
using controller::shown::Print;
using controller::shown::TextAt;
using nlohmann::json;

namespace {

std::string ShareAt(const json& entry) {
  std::string share = Print("%.2f %%", NumberAt(entry, {"share"}) * 100);
  share.insert(0, std::max<std::size_t>(share.size(), 8) - share.size(), ' ');
  return share;
}

// "communication by link: nic 61.20 %   latency 38.80 %".
std::string FormatLinks(const json& path) {
  std::string text;
  for (const json& link : At(path, {"links"})) {
    text += StrCat(text.empty() ? "" : "   ", TextAt(link, {"link"}), " ",
                   Print("%.2f %%", NumberAt(link, {"share"}) * 100));
  }
  return text.empty() ? "" : Line("", StrCat("communication by link: ", text));
}

// "most of it on NIC 0 of server 1, out 40.10 %   NIC 3 of server 1, out 20.00 %".
std::string FormatNamedLinks(const json& path) {
  constexpr std::size_t kShown = 3;
  std::string text;
  std::size_t shown = 0;
  for (const json& link : At(path, {"namedLinks"})) {
    if (++shown > kShown) break;
    text += StrCat(text.empty() ? "most of it on " : "   ", TextAt(link, {"name"}), " ",
                   Print("%.2f %%", NumberAt(link, {"share"}) * 100));
  }
  return text.empty() ? "" : Line("", text);
}

std::string FormatRanks(const json& path) {
  constexpr std::size_t kShown = 6;
  const json& ranks = At(path, {"ranks"});
  std::string text;
  std::size_t shown = 0;
  for (const json& rank : ranks) {
    if (++shown > kShown) break;
    text += StrCat(text.empty() ? "" : "   ", "rank ", CountAt(rank, {"rank"}), " ",
                   Print("%.2f %%", NumberAt(rank, {"share"}) * 100));
  }
  if (ranks.size() > kShown || CountAt(path, {"otherRanksPicoseconds"}) > 0) text += "   ...";
  return text.empty() ? "" : Line("", text);
}

}  // namespace

std::string DescribeCriticalPath(const json& path) {
  const std::int64_t iteration = CountAt(path, {"iteration"});
  std::string text = StrCat(iteration > 0 ? StrCat("iteration ", iteration) : "the whole program",
                            ": ", FormatCount(NumberAt(path, {"picoseconds"})), " ps in ",
                            FormatCount(NumberAt(path, {"segments"})), " parts, ",
                            FormatCount(NumberAt(path, {"rankChanges"})), " changes of rank among ",
                            FormatCount(NumberAt(path, {"ranksShown"})));
  const double left_out = NumberAt(path, {"operationsLeftOut"});
  if (left_out > 0) text += StrCat("; ", FormatCount(left_out), " operations were left out");
  return text;
}

std::string FormatCriticalPath(const json& prediction) {
  constexpr std::size_t kShown = 6;
  constexpr std::size_t kNameMax = 64;
  const json& path = At(prediction, {"criticalPath"});
  if (!path.is_object()) return "";
  std::string kinds;
  for (const json& kind : At(path, {"kinds"})) {
    kinds += StrCat(kinds.empty() ? "" : "   ", TextAt(kind, {"kind"}), " ",
                    Print("%.2f %%", NumberAt(kind, {"share"}) * 100));
  }
  std::string text = Line("critical path", kinds) + FormatLinks(path) + FormatNamedLinks(path) +
                     Line("", DescribeCriticalPath(path)) + FormatRanks(path);
  std::size_t shown = 0;
  for (const json& operation : At(path, {"operations"})) {
    if (++shown > kShown) break;
    text += Line("", StrCat(ShareAt(operation), "  ", TextAt(operation, {"kind"}), ": ",
                            KernelTitle(TextAt(operation, {"name"}), kNameMax), "   ",
                            FormatCount(NumberAt(operation, {"times"})), " x"));
  }
  return text;
}

}  // namespace eidolon::cli
