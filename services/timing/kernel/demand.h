// What a kernel asks of a GPU, counted: bytes moved, operations, dependent steps. The recognisers
// produce it from a launch; the estimators turn it into time.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::timing::kernel {

enum class Family {
  kUnknown,
  kGemm,
  kConvolution,
  kAttentionForward,
  kAttentionBackward,
  kElementwise,
  kCopy,
  kFill,
  kCast,
  kReduction,
  kSoftmax,
  kNormalization,
  kLoss,
  kOptimizer,
  kForeach,
  kEmbedding,
  kIndex,
  kRandom,
  kSort,
  kScan,
  kPooling,
  kResample,
  kTriton,
  kDistributed,
  kSparse,
  kRecurrent,
  kMisc,
};

// Returns the name as reports print it: "attention_forward".
std::string_view Name(Family family);

// How the sizes were found; decides source and relative error of the estimate.
enum class Evidence {
  kParameters,  // Read from the launch's parameters.
  kGrid,        // Derived from grid and block.
  kGuess,       // Neither fits a known layout.
};

enum class Unit { kCudaCore, kTensorCore };

// Numbers are doubles on purpose: they are counts that go into formulas, never times.
struct Demand {
  Family family = Family::kUnknown;
  Evidence evidence = Evidence::kGuess;
  double bytes = 0;         // To and from device memory, each operand once per pass.
  double random_bytes = 0;  // The part of `bytes` that is gathered or scattered.
  double row_bytes = 0;     // Contiguous bytes of a gathered row; 0 when nothing is gathered.
  double flops = 0;
  Unit unit = Unit::kCudaCore;
  std::string_view type = "fp32";  // Rate of the GPU model that bounds `flops`.
  // Instructions of lanes, counted in the kernel's code; none where one of the rates around says
  // enough.
  double instructions = 0;
  bool only_writes = false;       // No lane waits for what it reads before it goes on.
  double address_operations = 0;  // Integer operations for addresses and conversions of types.
  double sectors = 0;             // Pieces of 32 bytes that lanes far apart ask for one by one.
  double serial_steps = 0;        // Dependent memory round trips of the longest thread.
  double wave_steps = 0;          // The same of every thread, while none that follows can start.
  // Loads of every thread of which each waits for the one before: from L2 where it holds what they
  // are spread over, and from memory wherever that is; and the clocks of the work between them all.
  double dependent_loads = 0;
  double dependent_bytes = 0;
  double cold_loads = 0;
  double dependent_clocks = 0;
  double shared_wavefronts = 0;  // Clocks of multiprocessors' shared memory, with `in_step`.
  bool in_step = false;          // Threads of a block wait for each other between these loads.
  double elements = 0;           // That all threads share evenly; 0 where they do not.
  double working_blocks = 0;     // Where only the first blocks of the grid have something to do.
  // Rows of equal indices are added one after the other; how many are equal is not known.
  bool serial_duplicates = false;
  // Atomic operations: rounds in L2 (gpu_model/atomics.h), and the bytes that they fall on, one
  // behind the other as blocks go on.
  double atomic_rounds = 0;
  double atomic_bytes = 0;
  double clocks = 0;      // That a thread waits for by the multiprocessor's own clock.
  double efficiency = 1;  // Share of the attainable bandwidth this access pattern reaches.
  // Attention only; lengths and head size, 0 otherwise.
  double query_length = 0;
  double key_length = 0;
  double head_size = 0;
  double batch_heads = 0;
  double batch = 0;       // Sequences; 0 where that is not known.
  double heads_each = 1;  // Heads that share keys and values.
  bool causal = false;
  bool split_keys = false;  // FlashAttention's kernel for few queries and for pages of keys.
  double key_parts = 1;     // Parts of the keys; where several, another kernel combines them.
};

// Bytes that flash_fwd_splitkv_combine_kernel moves for so many elements of the output: a result of
// each part of the keys in single precision is read, and one in 16 bits is written.
constexpr double CombinedBytes(double elements, double parts) { return elements * (parts * 4 + 2); }

}  // namespace eidolon::timing::kernel
