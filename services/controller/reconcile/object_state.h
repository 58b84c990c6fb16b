// What plans ask of objects of the API server.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace eidolon::controller::reconcile {

bool IsBeingDeleted(const nlohmann::json& object);

// Seconds since 1970 of "2026-11-21T09:53:36Z"; 0 when it is none.
std::int64_t ParseTime(const std::string& text);

// Of a Deployment that may not be there yet.
bool IsReady(const std::optional<nlohmann::json>& deployment);
// Why it has no pods, in the words of who refused them; empty when nobody did.
std::string RefusalOf(const std::optional<nlohmann::json>& deployment);

// Whether a batch Job is complete or has failed.
bool HasEnded(const nlohmann::json& batch);

}  // namespace eidolon::controller::reconcile
