#include "services/controller/rest/routes.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "services/controller/rest/embedded.h"

namespace eidolon::controller::rest {

std::vector<std::string> QueryOf(const Route& route) {
  static const nlohmann::json kPaths = nlohmann::json::parse(OpenApiDocument()).at("paths");
  std::string method = route.method;
  for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> names;
  const auto path = kPaths.find(route.path);
  if (path == kPaths.end() || !path->contains(method)) return names;
  for (const auto& parameter : path->at(method).value("parameters", nlohmann::json::array())) {
    if (parameter.value("in", "") == "query") names.push_back(parameter.at("name"));
  }
  return names;
}

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
