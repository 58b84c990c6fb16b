// States what is known of every GPU that a model file describes: sizes that its parts work in, and
// what was published or measured of parts whose numbers no data sheet has. What differs from
// product to product is in the model files (services/timing/gpu_model/models).
//
// Clocks are those of the boost clock unless said otherwise. "e2e/measured" names the files of that
// folder.
#pragma once

namespace eidolon::machine {

// Threads of a warp, and warps that a multiprocessor's schedulers issue an instruction of in one
// clock, one each: CUDA C++ Programming Guide 13.0, "Hardware Implementation".
inline constexpr unsigned kWarpLanes = 32;
inline constexpr double kSchedulers = 4;

// Caches keep lines of 128 bytes and move sectors of 32: CUDA C++ Best Practices Guide 13.0,
// "Coalesced Access to Global Memory".
inline constexpr double kLineBytes = 128;
inline constexpr double kSectorBytes = 32;

// Shared memory has 32 banks, each a word wide: CUDA C++ Programming Guide 13.0, "Shared Memory".
// CUDA keeps 1 KiB of it for each block, from compute capability 8.0 on; 28 KiB of the memory that
// it shares with the first-level cache are always the cache's (same guide, 8.0 and 9.0).
inline constexpr unsigned kSharedBanks = 32;
inline constexpr unsigned kSharedWordBytes = 4;
inline constexpr unsigned kReservedSharedBytes = 1 << 10;
inline constexpr double kCacheBesideSharedBytes = 28 << 10;

// Output of one warp's matrix instruction (PTX ISA 8.7, mma.m16n8k16 and its like).
inline constexpr unsigned kMatrixRows = 16;
inline constexpr unsigned kMatrixColumns = 8;

// From this compute capability on, warps in groups of four multiply matrices (PTX ISA 8.7, wgmma),
// and libraries have kernels that do so.
inline constexpr unsigned kGroupMatrixMajor = 9;
// Multiplications and additions in a clock by a quarter of a multiprocessor, in bf16: NVIDIA H100
// whitepaper V1.04. Instructions of single warps get this share of it (Luo et al., 2024: 62.9 % on
// H100).
inline constexpr double kMatrixOperationsPerClock = 1024;
inline constexpr double kWarpMatrixShare = 0.629;

// Of a peak rate, what GEMMs are taken to sustain where a model file has no sustained rate: A100,
// H100 and B200 sustain 0.78 to 0.87 of theirs in bf16 (their model files).
inline constexpr double kSustainedShare = 0.8;

// Results a clock of a multiprocessor for integers: CUDA C++ Programming Guide 13.0, "Throughput of
// Native Arithmetic Instructions", 8.x and 9.0.
inline constexpr double kIntegerLanes = 64;
// Share of a multiprocessor's issue slots that kernels get which do nothing but issue: 0.85 and
// 0.88 on H200 (e2e/measured/h200/counters.csv).
inline constexpr double kIssueShare = 0.87;

// Latencies in clocks: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture
// via Microbenchmarking", 2024, table of A100 and H100. L2's is between those of the two.
inline constexpr double kSharedLatency = 29;
inline constexpr double kNearCacheLatency = 40;
inline constexpr double kFarCacheLatency = 262;
inline constexpr double kDeviceMemoryLatency = 479;
// Variable latencies of arithmetic: Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
// Microbenchmarking", 2018; later parts are alike.
inline constexpr double kArithmeticLatency = 24;
inline constexpr double kBarrierLatency = 20;

// A load of device memory that waits for another, in a kernel that is not alone with its loads: the
// four of compute_grad_weight, for whatever width, last 1.62 to 1.72 us on H200 (e2e/measured).
inline constexpr double kFarLoadSeconds = 0.41e-6;
// Part of a kernel's floor, a round trip to memory that the work of the kernel hides behind:
// accesses that wait for each other take 0.5 to 0.8 us on A100 and H100, as published.
inline constexpr double kMemoryLatencySeconds = 0.6e-6;

// Device memory brings at least this many bytes at once, two sectors. By judgement.
inline constexpr double kBurstBytes = 64;

// Share of L2 that it holds of a launch's own data, or of operands from before, while more passes
// through. Chosen with measured times in sight: docs/reference/generated/kernel_counts.md.
inline constexpr double kHeldShare = 0.6;
// Bytes a clock from L2 to a multiprocessor: NVIDIA A100 whitepaper V1.0. On H200 GEMMs got up to
// 54 (e2e/measured), all multiprocessors together.
inline constexpr double kFarCacheBytes = 64;
// A stack of HBM has a bus of 1024 bits, and each 64 bits of it have a slice of L2: 80 slices on
// A100 (NVIDIA A100 whitepaper V1.0: 5120 bytes a clock), 96 on H200.
inline constexpr double kStackBits = 1024;
inline constexpr double kSliceBits = 64;
// Lines a clock that a slice of L2 looks up: transposing copies of 32 MB, each lane in a line of
// its own, got 0.91 on H100 (61.2 us) and on H200 (51.2 us; transpose_copy, e2e/measured). Where
// memory is no HBM, each multiprocessor is taken to get 0.7, by judgement.
inline constexpr double kSliceLines = 0.91;
inline constexpr double kOtherLines = 0.7;
// Clocks of a slice for lanes that meet in a word: 64 M in 1024 words at random (13.1 G/s on H200,
// 2.2 clocks) and 4 M in 16 of one line (5.4 G/s, five lanes in the busiest word of a request; 2.3
// clocks; e2e/measured).
inline constexpr double kAtomicRoundClocks = 2.2;
// Lanes a clock of one multiprocessor whose atomic operations go to L2. By judgement.
inline constexpr double kAtomicsPerClock = 1;
// Lines that the first-level cache looks up at once, by neighbouring addresses: with one a clock a
// pooling kernel of rows of 11 elements would take 1.44 of what it takes on H200 (e2e/measured).
inline constexpr double kLinesAtOnce = 4;

// Range of a multiprocessor's clock, over its own, that estimates are made for and that power
// limits lead to. Parts run down to a tenth of their boost clock, but nothing was compared with
// measurements there.
inline constexpr double kClockMin = 0.25;
inline constexpr double kClockMax = 1.5;

// Blocks that a GPU starts in a clock: empty kernels of 1320 blocks, and kernels that fill 2 KiB a
// block, last 0.60 ns a block on H200 (e2e/measured), one in a clock of the 1.66 GHz that it then
// runs at.
inline constexpr double kBlocksPerClock = 0.84;
// Until another block runs where one has ended: of 19 kernels with generations of blocks of less
// than 10 us on H200, the time in which warps are missing of those that the multiprocessors have
// room for, without 1.2 us at the kernel's ends, comes to 0.13 to 0.68 us a generation, in the
// median 0.28 (sm__warps_active, e2e/measured/h200/counters.csv).
inline constexpr double kTurnoverSeconds = 0.28e-6;

// Instructions come from a cache of the multiprocessor's own, of 64 KB as far as times tell: on
// H200 FlashAttention 2's kernels of 414 and 493 lines do not wait for them once they run, and
// those of 532 and 641 do (e2e/measured/h200/kernels.jsonl.gz). A line from behind it takes 8
// clocks, which is an instruction a clock: in eleven kernels on H100 warps wait 0 to 19 for each,
// in the median 8 (stalled_no_instruction less 150 clocks of any launch, over the lines that are
// counted; e2e/measured/h100/counters.csv).
inline constexpr double kCodeLineClocks = 8;
inline constexpr double kCachedCodeLines = 512;

}  // namespace eidolon::machine
