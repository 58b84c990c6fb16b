// The page's modules as one script, with data around it. Data is escaped ("<") so that it cannot
// end its script element, and the nonce is a hash of the content, so that equal reports are equal
// files.
#include "services/controller/page/report_file.h"

#include <map>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/text.h"
#include "services/controller/page/bundle.h"

namespace eidolon::controller::page {

using base::StrCat;

std::string ReportFile(std::string_view data) {
  static const std::string kScript = BundleOf("report.js");
  static const std::string kStyle = StrCat(ContentOf("base.css"), ContentOf("parts.css"));
  const std::string content = StrCat(kStyle, kScript, data);
  const std::map<std::string, std::string, std::less<>> parts = {
      {"nonce", base::Hex(base::Hash128(content.data(), content.size()))},
      {"style", kStyle},
      {"script", kScript},
      {"data", Replaced(std::string(data), "<", "\\u003c")}};
  std::string file;
  std::string_view rest = ContentOf("report.html");
  for (auto at = rest.find("{{"); at != rest.npos; at = rest.find("{{")) {
    file += rest.substr(0, at);
    file += parts.at(Between(rest, "{{", "}}"));
    rest.remove_prefix(rest.find("}}") + 2);
  }
  return file += rest;
}

}  // namespace eidolon::controller::page
