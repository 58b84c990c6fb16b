// Computes how much slower the GPU of each rank runs than an average one.
//
// GPUs of one model differ: under one power limit each chip holds a clock of its own for good.
// Large GEMMs (32768 in each size) on NVIDIA A100s of NERSC's Perlmutter, four to a server, differ
// by 1.03 % within servers and by 0.21 % between them (standard deviations; 188 GPUs of 47 servers,
// the first that plot/perlmutter/gemm/gemm_data.csv of github.com/hpcgroup/perf-variability-ipdps26
// lists complete; C. Wei, K. Pradeep, A. Bhatele, "The Case of the Elusive Application Performance
// on Production GPU Supercomputers", IPDPS 2026). SGEMM on the V100s of TACC's Longhorn differs by
// 1.43 and 0.57 % (aggregated_data/sim of github.com/hal-uw/blox-pal; Sinha et al., "Not All GPUs
// Are Created Equal", SC22), PageRank there, which memory bounds, by 0.08 %. Every model takes the
// spread of the A100, the newest one that is published GPU by GPU, and kernels that memory bounds
// do not vary.
//
// Draws. The GPUs of a job have the expected order statistics of a normal sample of their number,
// dealt out to ranks by the seed. So the slowest of n ranks is as slow as the slowest of n is on
// average, whatever the seed, and a job of one rank has an average GPU.
#pragma once

#include <cstdint>

namespace eidolon::agent::job {

// A rank's place among the ranks of the job, whose servers have as many each.
struct RankPlace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::uint32_t ranks_per_server = 1;
};

// Returns by how many millionths kernels that the clock bounds last longer than on an average GPU;
// negative: shorter. Requires: place.rank < place.ranks, ranks_per_server > 0.
std::int32_t SlownessOf(const RankPlace& place, std::uint64_t seed);

// Of the slowest of all ranks, on average over jobs: live ranks of a folded job have its GPU,
// because every rank waits for it in the end. Requires: as above.
std::int32_t SlowestOf(const RankPlace& place);

}  // namespace eidolon::agent::job
