// Reads the beginning of both kinds of document: apiVersion, kind and metadata.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

inline constexpr std::string_view kApiVersion = "eidolon.dev/v1alpha1";
inline constexpr std::string_view kJobKind = "SimulationJob";
inline constexpr std::string_view kClusterKind = "SimulatedCluster";

struct Metadata {
  std::string name;           // Empty when only generate_name is set.
  std::string generate_name;  // Prefix of a name the controller makes.
  std::string name_space;     // Empty: the namespace of the request.
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
};

// A lower-case DNS label of at most 63 characters that begins with a letter (RFC 1035): what names
// have to be, in documents and paths.
bool IsDnsLabel(std::string_view text);
// The same, but it may begin with a digit (RFC 1123): what Kubernetes lets namespaces be.
bool IsNamespaceName(std::string_view text);

// Rule for the two, to follow the name of a field.
inline constexpr char kNameRule[] =
    "must be at most 63 lower-case letters, digits and '-', beginning with a letter and ending "
    "with a letter or digit";
inline constexpr char kNamespaceRule[] =
    "must be at most 63 lower-case letters, digits and '-', beginning and ending with a letter or "
    "digit";

// The document's kind; empty when it has none.
std::string KindOf(const nlohmann::json& document);

// Reads apiVersion, kind (must be `kind`) and metadata of a top-level reader.
Metadata ReadMetadata(Fields* document, std::string_view kind);

}  // namespace eidolon::controller::job
