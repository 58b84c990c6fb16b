// The description of the API, which travels inside the binary.
#pragma once

#include <string_view>

namespace eidolon::controller::rest {

std::string_view OpenApiDocument();  // openapi.json

}  // namespace eidolon::controller::rest
