#include "services/runtime/call_counter.h"

#include <grpcpp/support/server_interceptor.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

#include <string>

namespace eidolon::runtime {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;
using Counters = prometheus::Family<prometheus::Counter>;

// gRPC's names of status codes.
const char* NameOf(grpc::StatusCode code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "other";
}

class Counter final : public grpc::experimental::Interceptor {
 public:
  Counter(Counters* counters, std::string method)
      : counters_(*counters), method_(std::move(method)) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) {
      const char* code = NameOf(methods->GetSendStatus().error_code());
      counters_.Add({{"method", method_}, {"code", code}}).Increment();
    }
    methods->Proceed();
  }

 private:
  Counters& counters_;
  const std::string method_;
};

class Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(Counters* counters) : counters_(*counters) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    // "/eidolon.timing.v1.TimingService/Estimate" without its first stroke; gRPC owns the result.
    return new Counter(&counters_, info->method() + 1);
  }

 private:
  Counters& counters_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> CountCalls(
    prometheus::Registry* registry) {
  auto& counters = prometheus::BuildCounter()
                       .Name("eidolon_grpc_requests_total")
                       .Help("Calls answered, by method and status")
                       .Register(*registry);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<Factory>(&counters));
  return factories;
}

}  // namespace eidolon::runtime
