// Failures as HTTP: problem documents of RFC 9457.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/rest/api.h"

namespace eidolon::controller::rest {

inline constexpr char kProblemType[] = "application/problem+json";

// The status code an error is answered with.
int StatusOf(const ApiError& error);

// type, title, status, detail, instance and, for documents, errors: [{pointer, detail}].
nlohmann::json ToProblem(const ApiError& error, int status, const std::string& instance);

// Returns "Not Found" for 404; "Error" for codes without a name.
std::string TitleOf(int status);

}  // namespace eidolon::controller::rest
