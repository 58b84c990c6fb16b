// Properties of every model: more work never takes less time, and an item's time is one number.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/base/random.h"
#include "services/contract/workload/copy_kind.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/dnn_test.h"
#include "services/timing/model/attention_model.h"
#include "services/timing/model/estimator.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

using kernel::Demand;
using kernel::Family;

const gpu_model::GpuCatalog& Catalog() {
  static const auto catalog = *gpu_model::GpuCatalog::Load("");
  return catalog;
}

// A size between 1 and about 2^bits, small ones as likely as large ones.
double Size(base::Random& random, unsigned bits) {
  return static_cast<double>(1 + random.Below(std::uint64_t{1} << random.Below(bits + 1)));
}

struct Counted {
  const char* name;
  Family family;
  double efficiency;
};
constexpr Counted kCounted[] = {{"elementwise", Family::kElementwise, 0.92},
                                {"reduction", Family::kReduction, 0.8},
                                {"optimizer", Family::kOptimizer, 0.9},
                                {"embedding", Family::kEmbedding, 0.5},
                                {"sort", Family::kSort, 0.4},
                                {"unknown", Family::kUnknown, 0.5}};

TEST(GrowthTest, CountedKernelsTakeLongerWithMoreBytesOrOperations) {
  base::Random random(7);
  for (const std::string& gpu : Catalog().names()) {
    for (const Counted& counted : kCounted) {
      for (int round = 0; round < 300; ++round) {
        Demand less{.family = counted.family, .efficiency = counted.efficiency};
        less.bytes = Size(random, 36);
        less.flops = Size(random, 44);
        less.row_bytes = random.Below(2) == 0 ? 0 : Size(random, 12);
        less.random_bytes = less.row_bytes > 0 ? less.bytes * 0.5 : 0;
        Demand more = less;
        if (random.Below(2) == 0) more.bytes += Size(random, 34);
        if (random.Below(2) == 0) more.flops += Size(random, 42);
        const double blocks = Size(random, 16);
        const Parallelism grid{.blocks = blocks, .threads = blocks * 256};
        EXPECT_GE(DemandSeconds(**Catalog().Find(gpu), more, grid),
                  DemandSeconds(**Catalog().Find(gpu), less, grid))
            << gpu << " " << counted.name << " bytes " << less.bytes << " to " << more.bytes
            << ", operations " << less.flops << " to " << more.flops << ", blocks " << blocks;
      }
    }
  }
}

// Within one wave of blocks more heads take exactly as long, but for the last bit of a product.
constexpr base::Duration kRounding{1};

Demand Attention(Family family, double batch_heads, double queries, double keys, double head,
                 bool causal) {
  Demand demand{.family = family};
  demand.batch_heads = batch_heads;
  demand.query_length = queries;
  demand.key_length = keys;
  demand.head_size = head;
  demand.causal = causal;
  const double passes = family == Family::kAttentionBackward ? 2.5 : 1;
  demand.flops = passes * 4 * batch_heads * queries * keys * head;
  demand.bytes = 2 * batch_heads * head * (2 * queries + 2 * keys) * passes;
  return demand;
}

TEST(GrowthTest, AttentionTakesLongerWithMoreHeadsOrLongerSequences) {
  constexpr AttentionLibrary kLibraries[] = {AttentionLibrary::kFlash2, AttentionLibrary::kCudnn,
                                             AttentionLibrary::kMemoryEfficient};
  base::Random random(8);
  for (const std::string& gpu : Catalog().names()) {
    for (const AttentionLibrary library : kLibraries) {
      for (int round = 0; round < 500; ++round) {
        const Family family =
            random.Below(2) == 0 ? Family::kAttentionForward : Family::kAttentionBackward;
        const double heads = Size(random, 9);
        const double length = Size(random, 15);
        const double head = 32.0 * static_cast<double>(1 + random.Below(8));
        const bool causal = random.Below(2) == 0;
        const double longer = length + Size(random, 14);
        const double more_heads = heads + Size(random, 8);
        const auto time = [&](double batch_heads, double sequence) {
          const Demand demand = Attention(family, batch_heads, sequence, sequence, head, causal);
          return base::Duration::FromSeconds(
              PredictAttention(**Catalog().Find(gpu), demand, library).seconds);
        };
        EXPECT_GE(time(heads, longer) + kRounding, time(heads, length))
            << gpu << " length " << length << " to " << longer << ", heads " << heads << ", size "
            << head << (causal ? " causal" : "");
        EXPECT_GE(time(more_heads, length) + kRounding, time(heads, length))
            << gpu << " heads " << heads << " to " << more_heads << ", length " << length;
      }
    }
  }
}

TEST(GrowthTest, CopiesTakeLongerWithMoreBytes) {
  Estimator estimator(nullptr);
  base::Random random(9);
  for (const std::string& gpu : Catalog().names()) {
    for (const auto kind : {workload::CopyKind::kHostToDevice, workload::CopyKind::kDeviceToHost,
                            workload::CopyKind::kDeviceToDevice, workload::CopyKind::kPeer,
                            workload::CopyKind::kMemset}) {
      for (int round = 0; round < 200; ++round) {
        const auto bytes = static_cast<std::uint64_t>(Size(random, 34));
        const auto more = bytes + static_cast<std::uint64_t>(Size(random, 32));
        const bool pinned = random.Below(2) == 0;
        EXPECT_GE(
            estimator
                .Of(**Catalog().Find(gpu),
                    kernel::Copy{.kind = kind, .pinned = pinned, .bytes = more, .row_bytes = more})
                .duration,
            estimator
                .Of(**Catalog().Find(gpu),
                    kernel::Copy{
                        .kind = kind, .pinned = pinned, .bytes = bytes, .row_bytes = bytes})
                .duration)
            << gpu << " " << bytes << " to " << more;
      }
    }
  }
}

TEST(GrowthTest, ConvolutionsTakeLongerWithALargerBatch) {
  Estimator estimator(nullptr);
  for (const std::string& gpu : Catalog().names()) {
    base::Duration last;
    for (std::int64_t batch = 1; batch <= 1024; batch *= 2) {
      kernel::DnnGraph graph;
      graph.tensors = {kernel::TensorOf(1, {batch, 128, 28, 28}, 14),
                       kernel::TensorOf(2, {128, 128, 3, 3}, 14),
                       kernel::TensorOf(3, {batch, 128, 28, 28}, 14)};
      graph.operations = {kernel::OperationOf(10, {1, 2}, {3})};
      const base::Duration now = estimator.Of(**Catalog().Find(gpu), graph).duration;
      EXPECT_GE(now, last) << gpu << " batch " << batch;
      last = now;
    }
  }
}

// Pinned to the picosecond: another process, compiler or machine must give the same.
TEST(GrowthTest, AnItemLastsTheSameInEveryProcess) {
  struct Pinned {
    const char* gpu;
    kernel::WorkItem item;
    std::int64_t ps;
  };
  kernel::Gemm large;
  large.m = 4096, large.n = 16384, large.k = 14336, large.batch = 1;
  large.type_a = large.type_b = large.type_c = large.type_d = 14;
  large.compute_type = 68;
  kernel::Gemm odd = large;
  odd.m = 1031, odd.n = 517, odd.k = 2053;
  const std::vector<Pinned> all = {
      {"H100-SXM5-80GB", large, 2'421'831'779},
      {"B200-SXM-180GB", large, 1'325'312'217},
      {"A100-SXM4-80GB", large, 7'555'692'315},
      {"H100-SXM5-80GB", odd, 7'486'639},
      {"B200-SXM-180GB", odd, 3'998'044},
      {"H100-SXM5-80GB",
       kernel::Copy{.kind = workload::CopyKind::kHostToDevice,
                    .pinned = true,
                    .bytes = 12'345'678,
                    .row_bytes = 0},
       231'844'874},
      {"H200-SXM-141GB",
       kernel::Copy{.kind = workload::CopyKind::kDeviceToDevice,
                    .pinned = true,
                    .bytes = 12'345'678,
                    .row_bytes = 0},
       5'356'008},
      {"L40S", kernel::LibraryCall{{.flops = 1'000'000'007, .memory_bytes = 99}, "cufft", {}},
       16'551'515},
  };

  Estimator estimator(nullptr);

  for (const Pinned& pinned : all) {
    const auto gpu = Catalog().Find(pinned.gpu);
    ASSERT_TRUE(gpu) << gpu.error().message;
    EXPECT_EQ(estimator.Of(**gpu, pinned.item).duration.ps, pinned.ps) << pinned.gpu;
  }
}

}  // namespace
}  // namespace eidolon::timing::model
