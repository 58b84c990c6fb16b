#include "services/network/collective/kind.h"

namespace eidolon::network::collective {

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "all_reduce";
    case Kind::kAllGather:
      return "all_gather";
    case Kind::kReduceScatter:
      return "reduce_scatter";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kReduce:
      return "reduce";
    case Kind::kAllToAll:
      return "all_to_all";
    case Kind::kGather:
      return "gather";
    case Kind::kScatter:
      return "scatter";
    case Kind::kPointToPoint:
      return "send_recv";
  }
  return "unknown";
}

std::string_view Name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kNvls:
      return "nvls";
    case Algorithm::kNvlsTree:
      return "nvls_tree";
    case Algorithm::kPat:
      return "pat";
    case Algorithm::kCollNetDirect:
      return "collnet_direct";
    case Algorithm::kCollNetChain:
      return "collnet_chain";
    case Algorithm::kPointToPoint:
      return "p2p";
    case Algorithm::kCopy:
      return "copy";
  }
  return "unknown";
}

std::string_view Name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "ll";
    case Protocol::kLl128:
      return "ll128";
    case Protocol::kSimple:
      return "simple";
  }
  return "unknown";
}

}  // namespace eidolon::network::collective
