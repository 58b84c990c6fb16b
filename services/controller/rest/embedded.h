// Files that travel inside the binary.
#pragma once

#include <string_view>

namespace eidolon::controller::rest {

std::string_view OpenApiDocument();  // openapi.json
std::string_view StatusPage();       // status_page.html

}  // namespace eidolon::controller::rest
