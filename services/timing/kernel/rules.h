// The rules that count a kernel's work, one function per group of kernels. Internal to this folder:
// others call Recognise().
#pragma once

#include <optional>
#include <string_view>

#include "services/timing/kernel/demand.h"
#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/parameters.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// Launch as a rule sees it. All three outlive the call.
struct Launch {
  const KernelLaunch& launch;
  const KernelName& name;
  Parameters parameters;

  double threads() const {
    return static_cast<double>(launch.grid.Count()) * static_cast<double>(launch.block.Count());
  }
  // Template argument, "" when there are fewer.
  std::string_view Template(std::size_t index) const {
    return index < name.templates.size() ? std::string_view(name.templates[index]) : "";
  }
  // A positive integer parameter, or nothing; never a float, whose bits would look like a large
  // one.
  std::optional<double> Size(std::size_t slot) const;
  // A parameter's element width by its type in the signature, or `otherwise`.
  double ElementBytesOf(std::size_t slot, double otherwise) const;
};

// Each answers nothing when the launch does not fit the layout that it knows.
using Rule = std::optional<Demand> (*)(const Launch&);

// Slots of a scheduler beside its own that a multiplication into 64 bits takes: Triton's dropout of
// 64 M (tl.rand: 62 instructions an element, 20 of these) lasts 404 k clocks on H200, of which the
// instructions alone would take 0.70 (e2e/measured/h200/counters.csv; model/memory_model.cc).
inline constexpr double kSlotsOfWideMultiplication = 1.5;

// Rows that as many indices touch when they are spread evenly over a table of so many, each as
// likely as the next: what words of a large vocabulary and shuffled samples come near to. All
// different where the table's size is not known (0).
double RowsTouched(double indices, double table_rows);

std::optional<Demand> Vectorized(const Launch& l);
std::optional<Demand> Unrolled(const Launch& l);
std::optional<Demand> Strided(const Launch& l);
std::optional<Demand> IndexElementwise(const Launch& l);
std::optional<Demand> MultiOutput(const Launch& l);
std::optional<Demand> WithIndex(const Launch& l);
std::optional<Demand> Distribution(const Launch& l);
std::optional<Demand> Dropout(const Launch& l);
std::optional<Demand> Cat(const Launch& l);
std::optional<Demand> SplitCopy(const Launch& l);
std::optional<Demand> ChunkCat(const Launch& l);
std::optional<Demand> TransposeCopy(const Launch& l);

std::optional<Demand> Reduce(const Launch& l);
std::optional<Demand> SoftmaxWarp(const Launch& l);
std::optional<Demand> SoftmaxRow(const Launch& l);
std::optional<Demand> SoftmaxSpatial(const Launch& l);
std::optional<Demand> NormRows(const Launch& l);
std::optional<Demand> NormGammaBeta(const Launch& l);
std::optional<Demand> NormMoments(const Launch& l);
std::optional<Demand> BatchNorm(const Launch& l);
std::optional<Demand> BatchNormChannelsLast(const Launch& l);
std::optional<Demand> NllLoss(const Launch& l);
std::optional<Demand> PoolChannelsLast(const Launch& l);
std::optional<Demand> PoolChannelsFirst(const Launch& l);
std::optional<Demand> PoolBackwardChannelsFirst(const Launch& l);
std::optional<Demand> MaxPoolVolumes(const Launch& l);
std::optional<Demand> AveragePoolVolumes(const Launch& l);
std::optional<Demand> AveragePool(const Launch& l);
std::optional<Demand> AveragePoolBackward(const Launch& l);
std::optional<Demand> Nearest(const Launch& l);
std::optional<Demand> NearestBackward(const Launch& l);
std::optional<Demand> Bilinear(const Launch& l);
std::optional<Demand> BilinearBackward(const Launch& l);
std::optional<Demand> DepthwiseForward(const Launch& l);
std::optional<Demand> ScanRows(const Launch& l);

std::optional<Demand> MultiTensor(const Launch& l);
std::optional<Demand> LpNormCleanup(const Launch& l);

std::optional<Demand> Gather(const Launch& l);
std::optional<Demand> EmbeddingBag(const Launch& l);
std::optional<Demand> EmbeddingBackward(const Launch& l);
std::optional<Demand> SegmentedGradient(const Launch& l);
std::optional<Demand> SumAndScatter(const Launch& l);
std::optional<Demand> IndexingBackward(const Launch& l);
std::optional<Demand> IndexSelect(const Launch& l);
std::optional<Demand> IndexFunction(const Launch& l);
std::optional<Demand> Bookkeeping(const Launch& l);
std::optional<Demand> SingleCheck(const Launch& l);
std::optional<Demand> Spin(const Launch& l);
std::optional<Demand> Typed(const Launch& l);

std::optional<Demand> Sort(const Launch& l);
std::optional<Demand> ScanColumns(const Launch& l);
std::optional<Demand> DeviceScan(const Launch& l);
std::optional<Demand> RadixPass(const Launch& l);
std::optional<Demand> RadixHistogram(const Launch& l);
std::optional<Demand> SegmentedRadixPass(const Launch& l);
std::optional<Demand> BlockRadixSort(const Launch& l);
std::optional<Demand> BitonicSort(const Launch& l);
std::optional<Demand> TopKGather(const Launch& l);
std::optional<Demand> TopKDigits(const Launch& l);
std::optional<Demand> TopKSums(const Launch& l);
std::optional<Demand> TopKKth(const Launch& l);
std::optional<Demand> FillIndices(const Launch& l);
std::optional<Demand> Histogram(const Launch& l);

std::optional<Demand> FlashForward(const Launch& l);
std::optional<Demand> FlashCombine(const Launch& l);
std::optional<Demand> FlashBackward(const Launch& l);
std::optional<Demand> FlashPointwise(const Launch& l);
std::optional<Demand> MemoryEfficientForward(const Launch& l);
std::optional<Demand> MemoryEfficientBackward(const Launch& l);
std::optional<Demand> CutlassGemm(const Launch& l);

std::optional<Demand> TritonInductor(const Launch& l);

std::optional<Demand> EngineNorm(const Launch& l);
std::optional<Demand> EngineUnary(const Launch& l);
std::optional<Demand> EngineGated(const Launch& l);
std::optional<Demand> EngineCastTranspose(const Launch& l);
std::optional<Demand> EngineCastTransposeBias(const Launch& l);
std::optional<Demand> EngineTranspose(const Launch& l);
std::optional<Demand> EngineBiasGradient(const Launch& l);
std::optional<Demand> EngineBookkeeping(const Launch& l);
std::optional<Demand> EngineRope(const Launch& l);
std::optional<Demand> EngineRopeTogether(const Launch& l);
std::optional<Demand> EngineRouter(const Launch& l);

std::optional<Demand> EngineAmax(const Launch& l);
std::optional<Demand> EngineQuantizeMxfp8(const Launch& l);
std::optional<Demand> EngineCastMxfp8(const Launch& l);
std::optional<Demand> EngineQuantizeGated(const Launch& l);
std::optional<Demand> EngineCastFp8(const Launch& l);
std::optional<Demand> EngineBlockScaledSquare(const Launch& l);
std::optional<Demand> EngineBlockScaledVector(const Launch& l);
std::optional<Demand> EngineQuantizeNvfp4(const Launch& l);
std::optional<Demand> EngineHadamard(const Launch& l);
std::optional<Demand> EngineDequantize(const Launch& l);
std::optional<Demand> EngineSwizzle(const Launch& l);

// Any kernel at all: bytes from pointers, sizes and threads.
Demand Generic(const Launch& l);

}  // namespace eidolon::timing::kernel
