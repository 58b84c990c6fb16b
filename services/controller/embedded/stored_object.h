// What the tables of objects share: how a document is kept, and read back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "services/controller/job/metadata.h"

namespace eidolon::controller::embedded {

// The name that a document asks for, or one made of its prefix.
std::string NewNameOf(const job::Metadata& metadata);

// metadata and spec as the user gave them, with what the controller adds.
nlohmann::json AcceptedDocument(const std::string& name_space, const std::string& name,
                                const nlohmann::json& document);
// An object when the text is none.
nlohmann::json ParseStored(const std::string& text);

}  // namespace eidolon::controller::embedded
