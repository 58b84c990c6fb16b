#include "services/controller/embedded/store_answers.h"

#include "services/base/text.h"

namespace eidolon::controller::embedded {

using base::ErrorCode;
using base::StrCat;
using rest::ApiError;
using rest::ApiResult;

namespace {

// Returns how long a user waits for the disk.
constexpr std::chrono::milliseconds kAnswerLimit(5'000);

}  // namespace

std::unexpected<ApiError> Refuse(ErrorCode code, std::string message) {
  return std::unexpected(ApiError{code, std::move(message), {}});
}

std::unexpected<ApiError> Refuse(const base::Error& error) {
  return Refuse(error.code, error.message);
}

std::unexpected<ApiError> Refuse(std::string_view kind, job::Problems problems) {
  return std::unexpected(ApiError{
      ErrorCode::kInvalidArgument,
      StrCat("the ", kind, " has ", problems.size(), " problem(s): ", job::Describe(problems)),
      std::move(problems)});
}

void CheckNamespace(const std::string& name_space, const job::Metadata& metadata,
                    job::Problems* problems) {
  if (metadata.name_space.empty() || metadata.name_space == name_space) return;
  problems->push_back(
      {"/metadata/namespace", StrCat("is '", metadata.name_space,
                                     "', but the request goes to namespace '", name_space, "'")});
}

std::unexpected<ApiError> RefuseOverQuota(const std::string& why) {
  return std::unexpected(ApiError{
      .code = ErrorCode::kResourceExhausted, .message = why, .problems = {}, .over_quota = true});
}

std::unexpected<ApiError> RefuseOfStore(const JobTable& table, const base::Error& error) {
  // What was asked for is not possible, whatever the disk does.
  if (error.code == ErrorCode::kAlreadyExists) return Refuse(error);
  const bool full = error.code == ErrorCode::kResourceExhausted;
  return std::unexpected(
      ApiError{.code = full ? error.code : ErrorCode::kUnavailable,
               .message = StrCat("the store cannot be written: ", error.message, "; ",
                                 store::WayOut(error, table.directory().path())),
               .problems = {},
               .disk_full = full});
}

ApiResult<void> AwaitStored(const JobTable* jobs, ControllerState::Lock* lock,
                            const JobTable::Asked& asked) {
  const JobTable& table = *jobs;
  lock->unlock();
  if (!asked) return RefuseOfStore(table, asked.error());
  const auto end = (*asked)->Wait(kAnswerLimit);
  if (end == store::Ticket::End::kDone) return {};
  const auto writable = table.store_state().writable;
  const std::string why = writable
                              ? StrCat("the disk of ", table.directory().path(),
                                       " has not answered for ", kAnswerLimit.count() / 1000, " s")
                              : RefuseOfStore(table, writable.error()).error().message;
  return Refuse(ErrorCode::kUnavailable,
                why + (end == store::Ticket::End::kWithdrawn
                           ? "; nothing was changed, so try again"
                           : "; whether the change is stored is not known yet: ask for the object, "
                             "or repeat the request with the same Idempotency-Key"));
}

}  // namespace eidolon::controller::embedded
