#include "services/controller/rest/routes.h"

namespace eidolon::controller::rest {

std::string ToPattern(const std::string& path) {
  std::string pattern;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] == '{') {
      pattern += "([^/]+)";
      at = path.find('}', at);
    } else if (path[at] == '.') {
      pattern += "\\.";
    } else {
      pattern += path[at];
    }
  }
  return pattern;
}

}  // namespace eidolon::controller::rest
