// Text to documents: JSON, or YAML with one or several documents, both to the same JSON tree.
// Untrusted input: size, depth and number of nodes are limited (YAML aliases can multiply), and a
// key that occurs twice is an error instead of a silent choice.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::job {

inline constexpr std::size_t kDocumentBytesMax = 1u << 20;

// Parses one JSON text.
base::Result<nlohmann::json> ParseJson(std::string_view text);

// Parses YAML (of which JSON is nearly a subset); empty documents are left out. Scalars follow the
// YAML 1.2 core schema: unquoted true, null, 12 and 1.5 are typed, everything else is text.
base::Result<std::vector<nlohmann::json>> ParseYaml(std::string_view text);

// JSON when the first character is '{', YAML otherwise. Fails when there is no document.
base::Result<std::vector<nlohmann::json>> ParseDocuments(std::string_view text);

// A JSON tree as YAML, keys in the tree's order.
std::string ToYaml(const nlohmann::json& document);

}  // namespace eidolon::controller::job
