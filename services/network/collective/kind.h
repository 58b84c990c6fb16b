// The words of a collective: what is done, by which of NCCL's algorithms, over which protocol.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::network::collective {

enum class Kind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kPointToPoint,
};

inline constexpr int kKinds = 9;

enum class Algorithm {
  kRing,
  kTree,
  kNvls,
  kNvlsTree,
  kPat,
  kCollNetDirect,
  kCollNetChain,
  kPointToPoint,
  kCopy,
};

inline constexpr int kAlgorithms = 9;

// LL sends a flag with every 4 bytes, LL128 with every 120, Simple only with whole chunks.
enum class Protocol { kLl, kLl128, kSimple };

inline constexpr int kProtocols = 3;

// "all_reduce", "nvls_tree", "ll128".
std::string_view Name(Kind kind);
std::string_view Name(Algorithm algorithm);
std::string_view Name(Protocol protocol);

// True for kinds with one special rank.
constexpr bool HasRoot(Kind kind) {
  return kind == Kind::kBroadcast || kind == Kind::kReduce || kind == Kind::kGather ||
         kind == Kind::kScatter;
}

// True for kinds that combine the members' numbers.
constexpr bool Reduces(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduceScatter || kind == Kind::kReduce;
}

}  // namespace eidolon::network::collective
