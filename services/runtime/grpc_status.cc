#include "services/runtime/grpc_status.h"

#include "services/base/check.h"

namespace eidolon::runtime {

using base::ErrorCode;

grpc::Status ToStatus(const base::Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case ErrorCode::kInvalidArgument:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case ErrorCode::kNotFound:
        return grpc::StatusCode::NOT_FOUND;
      case ErrorCode::kAlreadyExists:
        return grpc::StatusCode::ALREADY_EXISTS;
      case ErrorCode::kFailedPrecondition:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case ErrorCode::kResourceExhausted:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case ErrorCode::kUnavailable:
        return grpc::StatusCode::UNAVAILABLE;
      case ErrorCode::kUnsupported:
        return grpc::StatusCode::UNIMPLEMENTED;
      case ErrorCode::kCorrupt:
        return grpc::StatusCode::DATA_LOSS;
      case ErrorCode::kInternal:
        return grpc::StatusCode::INTERNAL;
    }
    return grpc::StatusCode::UNKNOWN;
  }();
  return {code, error.message};
}

base::Error FromStatus(const grpc::Status& status) {
  CHECK(!status.ok());
  const auto code = [&] {
    switch (status.error_code()) {
      case grpc::StatusCode::INVALID_ARGUMENT:
      case grpc::StatusCode::OUT_OF_RANGE:
        return ErrorCode::kInvalidArgument;
      case grpc::StatusCode::NOT_FOUND:
        return ErrorCode::kNotFound;
      case grpc::StatusCode::ALREADY_EXISTS:
        return ErrorCode::kAlreadyExists;
      case grpc::StatusCode::FAILED_PRECONDITION:
      case grpc::StatusCode::PERMISSION_DENIED:
      case grpc::StatusCode::UNAUTHENTICATED:
      case grpc::StatusCode::ABORTED:
        return ErrorCode::kFailedPrecondition;
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return ErrorCode::kResourceExhausted;
      // A deadline or a cancelled call says that the peer did not answer in time.
      case grpc::StatusCode::UNAVAILABLE:
      case grpc::StatusCode::DEADLINE_EXCEEDED:
      case grpc::StatusCode::CANCELLED:
        return ErrorCode::kUnavailable;
      case grpc::StatusCode::UNIMPLEMENTED:
        return ErrorCode::kUnsupported;
      case grpc::StatusCode::DATA_LOSS:
        return ErrorCode::kCorrupt;
      default:
        return ErrorCode::kInternal;
    }
  }();
  return {code, status.error_message()};
}

}  // namespace eidolon::runtime
