// Functions that the tables of objects share: how a document is kept, and read back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "services/controller/job/metadata.h"

namespace eidolon::controller::embedded {

// The name that a document asks for, or one made of its prefix.
std::string NewNameOf(const job::Metadata& metadata);

// metadata and spec as the user gave them, with what the controller adds.
nlohmann::json AcceptedDocument(const std::string& name_space, const std::string& name,
                                const nlohmann::json& document);
// Requires: the text is that of an undamaged record.
nlohmann::json ParseStored(const std::string& text);

// A label of an accepted document; empty: it has none.
std::string LabelOf(const nlohmann::json& document, const char* label);

// Object that is shown in the place of a damaged record.
struct DamagedObject {
  std::string_view kind;   // Of its document: "SimulationJob".
  std::string record;      // "job 7".
  std::string damage;      // A clause.
  std::string name_space;  // As stored; the name too.
  std::string name;
  std::string document_text;  // As stored; empty: it is damaged.
};
// Its namespace and name, or others in their place when no object can have these.
std::pair<std::string, std::string> ShownName(const DamagedObject& object);
// Its document, or one without a spec.
nlohmann::json ShownDocument(const DamagedObject& object);
// Failed, with a message that names the record, the damage and what to do. Nothing of the status
// that was stored.
nlohmann::json ShownStatus(const DamagedObject& object, const std::string& folder,
                           const std::string& now);

}  // namespace eidolon::controller::embedded
