// The table of routes: method and path template, as /openapi.json describes them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace eidolon::controller::rest {

// The parts of a path that a template left open, in order.
using PathParts = std::vector<std::string>;

using Handler = std::function<void(const httplib::Request&, const PathParts&, httplib::Response*)>;

struct Route {
  std::string method;
  std::string path;  // "/api/v1/namespaces/{namespace}/simulationjobs"
  Handler handler;
};

// The names of the query parameters that the description of the API gives a route.
std::vector<std::string> QueryOf(const Route& route);

// The template as a regular expression of the whole path, with one group per open part.
std::string ToPattern(const std::string& path);

}  // namespace eidolon::controller::rest
