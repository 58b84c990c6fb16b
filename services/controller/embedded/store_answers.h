// Messages for users when something cannot be done, or stored.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "services/controller/embedded/controller_state.h"
#include "services/controller/rest/api.h"

namespace eidolon::controller::embedded {

std::unexpected<rest::ApiError> Refuse(base::ErrorCode code, std::string message);
std::unexpected<rest::ApiError> Refuse(const base::Error& error);
// Refuses a document with each problem.
std::unexpected<rest::ApiError> Refuse(std::string_view kind, job::Problems problems);
// With 507: the data folder is larger than it may be.
std::unexpected<rest::ApiError> RefuseOverQuota(const std::string& why);
std::unexpected<rest::ApiError> RefuseOfStore(const JobTable& table, const base::Error& error);

// The namespace of the path is the one that counts; a document must not contradict it.
void CheckNamespace(const std::string& name_space, const job::Metadata& metadata,
                    job::Problems* problems);

// Frees the lock, and waits until what was asked of the store is done.
rest::ApiResult<void> AwaitStored(const JobTable* jobs, ControllerState::Lock* lock,
                                  const JobTable::Asked& asked);

}  // namespace eidolon::controller::embedded
