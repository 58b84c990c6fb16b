// The rules are those of the API server, also in embedded mode: a document that one accepts should
// be accepted by the other. Fields that only a server sets are accepted and ignored, so that what
// `get` prints can be submitted again. generateName is checked with a character behind it, as it
// may end with a dash that a name may not end with. Labels and annotations are bounded, since every
// list of jobs carries them.
#include "services/controller/job/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;

constexpr std::size_t kPairsMax = 64;
constexpr std::size_t kPairBytesMax = 4096;

std::map<std::string, std::string> ReadPairs(Fields* metadata, std::string_view name) {
  const nlohmann::json* value = metadata->Find(name);
  std::map<std::string, std::string> pairs;
  if (value == nullptr) return pairs;
  if (!value->is_object() || value->size() > kPairsMax) {
    metadata->Report(name, StrCat("must be an object of at most ", kPairsMax, " texts"));
    return pairs;
  }
  for (const auto& [key, entry] : value->items()) {
    if (entry.is_string() && entry.get_ref<const std::string&>().size() <= kPairBytesMax) {
      pairs[key] = entry.get<std::string>();
    } else {
      metadata->Report(name,
                       StrCat("'", key, "' must be text of at most ", kPairBytesMax, " bytes"));
    }
  }
  return pairs;
}

}  // namespace

bool IsNamespaceName(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool IsDnsLabel(std::string_view text) {
  return IsNamespaceName(text) && text.front() >= 'a' && text.front() <= 'z';
}

std::string KindOf(const nlohmann::json& document) {
  if (!document.is_object()) return "";
  const auto kind = document.find("kind");
  return kind != document.end() && kind->is_string() ? kind->get<std::string>() : "";
}

Metadata ReadMetadata(Fields* document, std::string_view kind) {
  if (!document->Has("apiVersion")) {
    document->Report("apiVersion", StrCat("is required: ", kApiVersion));
  } else {
    document->Choice("apiVersion", {std::string(kApiVersion)}, "");
  }
  if (!document->Has("kind")) {
    document->Report("kind", StrCat("is required: ", kind));
  } else {
    document->Choice("kind", {std::string(kind)}, "");
  }
  Metadata read;
  auto metadata = document->Object("metadata");
  if (!metadata) {
    if (!document->Has("metadata")) document->Report("metadata", "is required: {name: ...}");
    return read;
  }
  read.name = metadata->Text("name");
  read.generate_name = metadata->Text("generateName");
  if (!metadata->Has("name") && !metadata->Has("generateName")) {
    metadata->Report("name", "is required (or generateName, a prefix)");
  } else if (metadata->Has("name") && !IsDnsLabel(read.name)) {
    metadata->Report("name", kNameRule);
  } else if (!metadata->Has("name") && !IsDnsLabel(read.generate_name + "x")) {
    metadata->Report("generateName", kNameRule);
  }
  read.name_space = metadata->Text("namespace");
  if (metadata->Has("namespace") && !IsNamespaceName(read.name_space)) {
    metadata->Report("namespace", kNamespaceRule);
  }
  read.labels = ReadPairs(&*metadata, "labels");
  read.annotations = ReadPairs(&*metadata, "annotations");
  // Set by the server; accepted so that what was read can be submitted again.
  for (const char* name : {"uid", "resourceVersion", "generation", "creationTimestamp"}) {
    metadata->Ignore(name);
  }
  metadata->Finish();
  return read;
}

}  // namespace eidolon::controller::job
