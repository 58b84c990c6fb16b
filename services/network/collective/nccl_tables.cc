// These numbers are NCCL's and not ours: they decide which algorithm NCCL chooses, so they stay as
// they are even where measurements disagree. The functions index by enumerator, hence rows and
// columns follow the order of Medium, Protocol and Generation. Where NCCL distinguishes host
// processors, the values are those for Intel's.
#include "services/network/collective/nccl_tables.h"

#include <bit>
#include <cstddef>

namespace eidolon::network::collective {
namespace {

using topology::Generation;

// Columns: LL, LL128, Simple.
constexpr double kTreeBase[] = {6.8, 14.0, 8.4};
constexpr double kRingBase[] = {6.6, 14.0, 8.4};

// Rows: NVLink, PCIe, network.
constexpr double kTreeHop[3][3] = {{0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}};
constexpr double kRingHop[3][3] = {{0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}};
constexpr double kNvlsHop[3] = {25.0, 0.0, 18.0};
constexpr double kNvlsTreeHop[3] = {25.0, 0.0, 20.9};
constexpr double kPatBase = 8.0;
constexpr double kPatHop[3] = {4.0, 4.0, 14.0};
constexpr double kCollNetDirectHop[3] = {3.7, 3.7, 31.0};
constexpr double kCollNetChainHop[3] = {2.8, 2.8, 30.0};

// Rows: Volta, Ampere, Hopper, Blackwell. Columns: 1, 2, more servers.
constexpr double kTreeLl128[4][3] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}};
constexpr double kTree[4][3] = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}};
constexpr double kNvlsTree[4][3] = {{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96.0, 80.0}};
constexpr double kRingLl128[4] = {20, 20, 36.7, 40};
constexpr double kLlMaxOneServer[4] = {39.0, 87.7, 141.0, 282.0};
// Between servers the host's CPU decides: these are Intel's.
constexpr double kLlMaxTwoServers = 39.0;
constexpr double kLlMaxMoreServers = 20.4;

// Powers of two from 64 B.
constexpr double kTreeCorrection[3][24] = {
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9}};

std::size_t Row(Generation generation) { return static_cast<std::size_t>(generation); }
std::size_t Column(std::uint32_t nodes) { return nodes <= 2 ? nodes - 1 : 2; }

}  // namespace

double BaseLatencyUs(Algorithm algorithm, Protocol protocol) {
  const auto column = static_cast<std::size_t>(protocol);
  switch (algorithm) {
    case Algorithm::kTree:
      return kTreeBase[column];
    case Algorithm::kRing:
    case Algorithm::kPointToPoint:
      return kRingBase[column];
    case Algorithm::kPat:
      return kPatBase;
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
    case Algorithm::kCollNetDirect:
    case Algorithm::kCollNetChain:
    case Algorithm::kCopy:
      return 0;
  }
  return 0;
}

double HopLatencyUs(Medium medium, Algorithm algorithm, Protocol protocol) {
  const auto row = static_cast<std::size_t>(medium);
  const auto column = static_cast<std::size_t>(protocol);
  switch (algorithm) {
    case Algorithm::kTree:
      return kTreeHop[row][column];
    case Algorithm::kRing:
    case Algorithm::kPointToPoint:
      return kRingHop[row][column];
    case Algorithm::kNvls:
      return kNvlsHop[row];
    case Algorithm::kNvlsTree:
      return kNvlsTreeHop[row];
    case Algorithm::kPat:
      return kPatHop[row];
    case Algorithm::kCollNetDirect:
      return kCollNetDirectHop[row];
    case Algorithm::kCollNetChain:
      return kCollNetChainHop[row];
    case Algorithm::kCopy:
      return 0;
  }
  return 0;
}

double LlMax(Generation generation, std::uint32_t nodes) {
  if (nodes == 1) return kLlMaxOneServer[Row(generation)];
  return nodes == 2 ? kLlMaxTwoServers : kLlMaxMoreServers;
}

double RingLl128PerChannel(Generation generation) { return kRingLl128[Row(generation)]; }

double TreeLl128PerChannel(Generation generation, std::uint32_t nodes) {
  return kTreeLl128[Row(generation)][Column(nodes)];
}

double TreePerChannel(Generation generation, std::uint32_t nodes) {
  return kTree[Row(generation)][Column(nodes)];
}

double NvlsTreePerChannel(Generation generation, std::uint32_t nodes) {
  return kNvlsTree[Row(generation)][Column(nodes)];
}

double NvlsEfficiency(Generation generation) {
  return generation == Generation::kBlackwell ? 0.74 : 0.85;
}

double TreeCorrection(Protocol protocol, std::uint64_t bytes) {
  if (bytes < 64) return 1.0;
  const auto column = static_cast<std::size_t>(std::bit_width(bytes >> 6)) - 1;
  return column < 24 ? kTreeCorrection[static_cast<std::size_t>(protocol)][column] : 1.0;
}

}  // namespace eidolon::network::collective
