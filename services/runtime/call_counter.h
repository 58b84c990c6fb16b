// Counts the calls that a gRPC server answered, by method and status, for every service alike.
#pragma once

#include <memory>
#include <vector>

namespace grpc::experimental {
class ServerInterceptorFactoryInterface;
}  // namespace grpc::experimental
namespace prometheus {
class Registry;
}  // namespace prometheus

namespace eidolon::runtime {

// For a server's builder: makes eidolon_grpc_requests_total{method, code} in `registry`, which
// outlives the server. A call counts when its status is sent, a stream at its end. Methods are
// those of the registered services, so that labels are bounded.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> CountCalls(
    prometheus::Registry* registry);

}  // namespace eidolon::runtime
