// Whether a stored record can be what a controller has written: its checksum matches and its texts
// have the form that readers rely on. Stores of earlier versions have no checksums of their own, so
// the form alone shows their damage.
#pragma once

#include <string>

#include "services/controller/store/job_store.h"

namespace eidolon::controller::store {

// Returns what is wrong with the record, as a clause: "its status is no JSON object"; empty when
// nothing is.
std::string DamageOf(const StoredJob& job);
std::string DamageOf(const StoredCluster& cluster);
std::string DamageOf(const StoredSweep& sweep);

// The part that is wrong is the document, or both are: only without this may it be shown.
bool IsDocumentDamaged(const std::string& damage);

}  // namespace eidolon::controller::store
