// Sorts, scans and the largest k: passes over tiles and over digits. Times are of one H200
// (e2e/measured); where a comment names sizes or types, those gave the constants and others test.
#include <algorithm>
#include <cmath>

#include "services/base/text.h"
#include "services/contract/machine/machine.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

Demand Counted(Family family, double bytes) {
  Demand demand;
  demand.family = family;
  demand.evidence = Evidence::kParameters;
  demand.bytes = bytes;
  return demand;
}

// Round trips until the last tile knows the sum of all before it, by decoupled look-back (Merrill
// and Garland 2016). A tile that looks at the 32 before it finds the nearest sum that is complete;
// one tile takes 0.8 and 547 take 6, and no more wait than a GPU holds.
double LookBackSteps(double tiles) {
  constexpr double kOwn = 0.8, kPerDoubling = 0.55, kTilesMax = 2048;
  return kOwn + kPerDoubling * std::log2(std::clamp(tiles, 1.0, kTilesMax));
}

double DigitPasses(double key_bytes, double digit_bits) {
  return std::ceil(key_bytes * 8 / digit_bits);
}

// Efficiency for keys and values that are written to as many places as a digit has values.
constexpr double kRadixEfficiency = 0.68;

// Instructions of a thread and element in a pass of radix select, and to gather what was selected:
// counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon kernel explain`).
constexpr double kInstructionsOfPass = 134, kInstructionsOfGather = 317;

// Passes of two bits until the k-th value stands alone, and one that looks it up. Values are taken
// to differ, as scores of a router do: the largest k of them lie about 1 / (2 k) of their size
// apart, which sign, exponent and 2 + log2(k) bits of the fraction tell. Equal values and whole
// numbers take all digits (on H200, where e2e/measured had zeros: 16 of 32 bits, 8 of 16).
double PassesOfSelection(std::string_view type, double key_bytes, double k) {
  const double all = DigitPasses(key_bytes, 2);
  const bool narrow_exponent = type.find("Half") != type.npos;
  const bool is_float = type == "float" || type.find("BFloat16") != type.npos || narrow_exponent;
  if (!is_float) return all;
  const double sign_and_exponent = narrow_exponent ? 6 : 9;
  return std::min(all, 1 + (sign_and_exponent + 2 + std::log2(std::max(1.0, k))) / 2);
}

// What a thread of one of topk's kernels does for the slice that its block has: a wave of blocks
// lasts `steps` round trips. The grid is rounded up to rows of 65535 blocks, of which those that
// have nothing to do last 0.6 ns each.
void OfBlocks(const Launch& l, double blocks, double steps, Demand& demand) {
  constexpr double kStepsOfIdleBlock = 1e-3;
  const double grid = static_cast<double>(l.launch.grid.Count());
  const double working = std::clamp(blocks, 1.0, grid);
  demand.wave_steps = steps * working / grid;
  demand.serial_steps += (grid - working) * kStepsOfIdleBlock;
}

// Elements of a slice that each thread of its blocks has; as many as fit are left to a thread, also
// where the slice is shorter.
double ItemsOfThread(const Launch& l, double slice, double blocks) {
  return std::max(1.0, std::ceil(slice / blocks / static_cast<double>(l.launch.block.Count())));
}

}  // namespace

// CUB passes and segmented sorts: the item count is the largest size; keys and values are the typed
// pointers.
std::optional<Demand> Sort(const Launch& l) {
  auto demand = Typed(l);
  if (!demand) return std::nullopt;
  demand->family = l.name.Has("Scan") || l.name.Has("scan") ? Family::kScan : Family::kSort;
  demand->efficiency = 0.5;
  // Steps between loading a tile and writing it: where keys change, which of them stay (1 to 66
  // tiles of scans and compactions by key).
  constexpr double kStepsOfTile = 3;
  demand->serial_steps = kStepsOfTile + LookBackSteps(static_cast<double>(l.launch.grid.Count()));
  return demand;
}

// DeviceScanKernel<policy, In, Out, ...>(In, Out, tile state, int, op, init, items): 2.55 TB/s in
// single precision, and 3.95 ps an element of 16 bits, which are added one after the other.
std::optional<Demand> DeviceScan(const Launch& l) {
  auto demand = Typed(l);
  if (!demand) return std::nullopt;
  constexpr double kNarrowOperations = 200, kNarrowBytes = 2;
  demand->family = Family::kScan;
  demand->efficiency = 0.6;
  const double width = l.ElementBytesOf(1, 4);
  if (width <= kNarrowBytes) demand->flops = demand->bytes / (2 * width) * kNarrowOperations;
  demand->serial_steps = LookBackSteps(static_cast<double>(l.launch.grid.Count()));
  return demand;
}

// tensor_kernel_scan_outer_dim<T, index, op>(T* out, const T* in, unsigned outer, unsigned columns,
// unsigned rows, ...) and ..._with_indices(in, values, indices, outer, columns, rows, ...): a
// thread walks down a column. Its store may alias the next element, which is therefore not loaded
// ahead.
std::optional<Demand> ScanColumns(const Launch& l) {
  const bool has_indices = l.name.Has("with_indices");
  const std::size_t first = has_indices ? 3 : 2;
  const auto outer = l.Size(first);
  const auto columns = l.Size(first + 1);
  const auto rows = l.Size(first + 2);
  if (!outer || !columns || !rows) return std::nullopt;
  const double width = ElementBytes(l.Template(0)).value_or(4);
  Demand demand =
      Counted(Family::kScan, *outer * *columns * *rows * (2 * width + (has_indices ? 8 : 0)));
  constexpr double kClocksOfRow = 18;
  demand.dependent_loads = *rows;
  demand.dependent_bytes = demand.bytes;
  demand.dependent_clocks = *rows * kClocksOfRow;
  return demand;
}

// DeviceRadixSortOnesweepKernel(int*, int*, bins, bins, keys out, in, values out, in, int items,
// ...): every key and value is read and written once a digit. 256 K to 4 M of 4 and 8 bytes and of
// 2 and 8.
std::optional<Demand> RadixPass(const Launch& l) {
  const auto items = l.Size(8);
  if (!items) return std::nullopt;
  Demand demand =
      Counted(Family::kSort, 2 * *items * (l.ElementBytesOf(4, 4) + l.ElementBytesOf(6, 0)));
  demand.efficiency = kRadixEfficiency;
  demand.serial_steps = 7;  // A tile in shared memory, ranked, sorted and written from there.
  return demand;
}

// DeviceRadixSortHistogramKernel(bins, keys, items, int, int, ...): all digits of a key in one
// pass, in shared memory: 1.7 ps a key of four digits, 1.4 of two (4 M of each).
std::optional<Demand> RadixHistogram(const Launch& l) {
  const auto items = l.Size(2);
  if (!items) return std::nullopt;
  constexpr double kOperations = 27;
  Demand demand = Counted(Family::kSort, *items * l.ElementBytesOf(1, 4));
  demand.address_operations = *items * kOperations;
  demand.serial_steps = 2.5;
  return demand;
}

// DeviceSegmentedRadixSortKernel<policy, .., .., K, V, ...>(const K*, K*, const V*, V*, begins,
// ends,
// ...), where begins is {int length, int first}: a block has a segment. It reads the keys and
// counts their digits, then reads keys and values and writes them where they belong. Besides what
// moves, the passes of 26 M keys of 16 and of 32 bits lasted 10 ps a key on H100 (e2e/measured), as
// if its schedulers had nothing else to do; those of 64 bits gave nothing.
std::optional<Demand> SegmentedRadixPass(const Launch& l) {
  const auto begins = l.parameters.Slot(4);
  if (!begins || begins->bytes != 8 || l.parameters.IsPointer(begins->offset)) return std::nullopt;
  const auto length = l.parameters.At<std::int32_t>(begins->offset);
  if (!length || *length <= 0) return std::nullopt;
  const double items = static_cast<double>(*length) * l.launch.grid.x;
  const double key = l.ElementBytesOf(0, 4);
  constexpr double kInstructions = 290;
  Demand demand = Counted(Family::kSort, items * (3 * key + 2 * l.ElementBytesOf(2, 0)));
  demand.instructions = items * kInstructions;
  return demand;
}

// radixSortKVInPlace<.., .., threads, items, K, V, index>(...): a block sorts a slice of up to 4096
// in shared memory, by digits of four bits, each thread its items one after the other, with
// barriers between. Counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon kernel explain`:
// keys of 2, 4 and 8 bytes, 4 and 32 items) on memory of zeros.
std::optional<Demand> BlockRadixSort(const Launch& l) {
  constexpr double kWarp = machine::kWarpLanes, kWord = 4, kLongestItems = 32;
  const auto named = base::ParseInteger(l.Template(3));
  const double items = named && *named > 0 ? static_cast<double>(*named) : kLongestItems;
  const double key = ElementBytes(l.Template(4)).value_or(4);
  const double digits = DigitPasses(key, 4);
  Demand demand = Counted(
      Family::kSort, 2 * l.threads() * items * (key + ElementBytes(l.Template(5)).value_or(8)));
  demand.evidence = Evidence::kGrid;
  demand.in_step = true;
  demand.cold_loads = 1;
  demand.dependent_clocks = 1620 + 170 * items + digits * (565 + 63.6 * items);
  demand.instructions = l.threads() * (45 + 86 * items + digits * (60 + 21 * items));
  const double exchange = key <= kWord ? 5.8 : 8.7;
  demand.shared_wavefronts = l.threads() / kWarp * (22 * items + digits * (95 + exchange * items));
  return demand;
}

// bitonicSortKVInPlace<.., .., x, .., K, V, ...>(...): x threads sort 2 x elements, each exchanging
// a pair in every stage of the network. 16384 blocks in 175 us.
std::optional<Demand> BitonicSort(const Launch& l) {
  const double key = ElementBytes(l.Template(4)).value_or(4);
  constexpr double kOperationsOfStage = 47;
  const double doublings = std::ceil(std::log2(2.0 * std::max(1u, l.launch.block.x)));
  Demand demand =
      Counted(Family::kSort, 4 * l.threads() * (key + ElementBytes(l.Template(5)).value_or(8)));
  demand.evidence = Evidence::kGrid;
  demand.address_operations = kOperationsOfStage * l.threads() * doublings * (doublings + 1) / 2;
  demand.serial_steps = 3;
  return demand;
}

// sbtopk::gatherTopK<T, ...>(input, int slice, int k, bool, int slices, ...): a block finds the
// k-th of a slice by radix select, two bits a pass, then gathers. mbtopk::gatherTopK(input, slice,
// k, bool, slices, int, ..., int items of a thread, int blocks of a slice, ...): the last of the
// kernels below.
std::optional<Demand> TopKGather(const Launch& l) {
  const auto slice = l.Size(1);
  const auto slices = l.Size(4);
  if (!slice || !slices) return std::nullopt;
  const double key = ElementBytes(l.Template(0)).value_or(4);
  if (l.name.Has("mbtopk")) {
    constexpr double kStepsOfItem = 1.5, kSteps = 1.6;
    Demand demand = Counted(Family::kSort, *slice * *slices * key);
    const double blocks = l.Size(11).value_or(1);
    OfBlocks(l, *slices * blocks, kSteps + kStepsOfItem * ItemsOfThread(l, *slice, blocks), demand);
    return demand;
  }
  const double threads = static_cast<double>(l.launch.block.Count());
  const double each = std::ceil(*slice / threads);
  // What the cache of a multiprocessor does not hold is read again in every pass.
  constexpr double kCachedBytes = 128 * 1024;
  const double passes = PassesOfSelection(l.Template(0), key, l.Size(2).value_or(1));
  const double reads = *slice * key > kCachedBytes ? passes + 2 : 1;
  Demand demand = Counted(Family::kSort, *slice * *slices * key * reads);
  demand.instructions =
      *slices * threads * each * (kInstructionsOfPass * passes + kInstructionsOfGather);
  demand.serial_steps = 3.5;
  return demand;
}

// mbtopk::computeBlockDigitCounts<T, ...>(input, slice, k*, int slices, stride, int bit, int items
// of a thread, int blocks of a slice, ...): counts of the 256 values of one digit.
std::optional<Demand> TopKDigits(const Launch& l) {
  const auto slice = l.Size(1);
  const auto slices = l.Size(3);
  if (!slice || !slices) return std::nullopt;
  constexpr double kStepsOfItem = 0.9, kSteps = 1.2;
  Demand demand =
      Counted(Family::kSort, *slice * *slices * ElementBytes(l.Template(0)).value_or(4));
  const double blocks = l.Size(7).value_or(1);
  OfBlocks(l, *slices * blocks, kSteps + kStepsOfItem * ItemsOfThread(l, *slice, blocks), demand);
  return demand;
}

// mbtopk::computeDigitCumSum(short* counts, int* sums, int blocks of a slice), a block a slice, and
// mbtopk::computeBlockwiseWithinKCounts(...), a block a block of before.
std::optional<Demand> TopKSums(const Launch& l) {
  const bool within = l.name.Has("WithinK");
  constexpr double kStepsOfSums = 1.9, kStepsWithin = 3.5, kDigits = 256;
  const double grid = static_cast<double>(l.launch.grid.Count());
  const double blocks = within ? l.Size(11).value_or(grid) : grid;
  Demand demand =
      Counted(Family::kSort, blocks * kDigits * 2 * (within ? 1 : l.Size(2).value_or(1)));
  OfBlocks(l, blocks, within ? kStepsWithin : kStepsOfSums, demand);
  return demand;
}

// mbtopk::computeBlockwiseKthCounts(int*, short* counts, int blocks, ...): a thread a block of
// before, each with a count of its own to look up and to write.
std::optional<Demand> TopKKth(const Launch& l) {
  const double blocks = l.Size(2).value_or(l.threads());
  Demand demand = Counted(Family::kSort, blocks * 12);
  demand.sectors = 3 * blocks;
  return demand;
}

// fill_reverse_indices_kernel(long*, int items, divider): a thread an element, with a division.
std::optional<Demand> FillIndices(const Launch& l) {
  const auto items = l.Size(1);
  if (!items) return std::nullopt;
  Demand demand = Counted(Family::kFill, *items * 8);
  demand.wave_steps = 1.6;  // A wave of blocks in 0.97 to 1.03 us.
  return demand;
}

namespace {

// Returns how many of a warp's lanes meet in one bin at most, when each is as likely as the next:
// bins fill up as by independent draws (Poisson).
double LargestMeeting(double bins) {
  constexpr int kLanes = machine::kWarpLanes;
  const double mean = kLanes / bins;
  double term = std::exp(-mean), below = 0, expected = 0;
  for (int k = 0; k < kLanes; ++k) {
    below += term;
    term *= mean / (k + 1);
    expected += 1 - std::pow(std::min(1.0, below), bins);
  }
  return std::max(1.0, expected);
}

}  // namespace

// kernelHistogram1D<out, in, index, .., .., .., memory, ...>(counts, TensorInfo, in, index bins,
// min, max, index items, ...). In shared memory (0) lanes that meet in a bin take turns: clocks of
// a multiprocessor for a warp's elements and for each that waits, of 4 M elements in 16 and 256
// bins on H100 (e2e/measured/h100/scattered.jsonl.gz). Bins beyond what shared memory holds are
// counted in L2, an element at a time, 69 G/s of them.
std::optional<Demand> Histogram(const Launch& l) {
  constexpr double kLanes = machine::kWarpLanes, kFarSectors = 1.7;
  constexpr double kClocks = 39, kClocksOfStep = 18.5, kWideClocks = 53, kWideClocksOfStep = 28.5;
  const auto items = l.Size(6);
  const auto bins = l.Size(3);
  if (!items) return std::nullopt;
  Demand demand = Counted(Family::kSort, *items * ElementBytes(l.Template(1)).value_or(4));
  if (!bins || !l.Template(6).ends_with('0')) {
    demand.sectors = kFarSectors * *items;
    return demand;
  }
  const bool wide = ElementBytes(l.Template(0)).value_or(4) > 4;
  const double waiting = LargestMeeting(*bins) * (wide ? kWideClocksOfStep : kClocksOfStep);
  demand.address_operations =
      *items / kLanes * std::max(wide ? kWideClocks : kClocks, waiting) * machine::kIntegerLanes;
  return demand;
}

}  // namespace eidolon::timing::kernel
