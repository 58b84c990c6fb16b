#include "services/controller/rest/origin.h"

#include <algorithm>

#include "services/base/text.h"

namespace eidolon::controller::rest {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsWithoutCase(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

bool IsLoopbackAddress(std::string_view host) {
  const auto parts = base::Split(host, '.');
  if (parts.size() != 4 || parts[0] != "127") return false;
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    const bool digits =
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    return !part.empty() && part.size() <= 3 && digits && *base::ParseInteger(part) <= 255;
  });
}

}  // namespace

bool IsLoopback(std::string_view host) {
  if (host == "::1" || host == "[::1]") return true;
  if (host.ends_with('.')) host.remove_suffix(1);
  return EqualsWithoutCase(host, "localhost") || IsLoopbackAddress(host);
}

std::string_view HostOf(std::string_view header) {
  if (header.starts_with('[')) {
    const std::size_t end = header.find(']');
    if (end == std::string_view::npos) return header;
    const std::string_view rest = header.substr(end + 1);
    return rest.empty() || rest.starts_with(':') ? header.substr(0, end + 1) : header;
  }
  return header.substr(0, header.rfind(':'));
}

bool IsSameOrigin(std::string_view origin, std::string_view host_header) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.size() < scheme.size()) continue;
    if (!EqualsWithoutCase(origin.substr(0, scheme.size()), scheme)) continue;
    return !host_header.empty() && EqualsWithoutCase(origin.substr(scheme.size()), host_header);
  }
  return false;
}

}  // namespace eidolon::controller::rest
