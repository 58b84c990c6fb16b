// Calls that cannot mean anything get the runtime's codes, and those at the edge of them work.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/gpu/module/sample.h"
#include "shim/vendor/cuda_runtime/handlers.h"

namespace eidolon::shim::cuda_runtime {
namespace {

using ring::RecordKind;

constexpr size_t kMost = ~size_t{0};
constexpr size_t kBytes = 4 << 20;

char table_stub;  // As the compiler's stub of a variable is: only its address matters.

struct Row {
  std::string name;
  std::function<cudaError_t()> call;
  cudaError_t expected;
};

class RuntimeImpossibleCallTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    static gpu::SampleWrapper wrapper;
    void** handle = registration::RegisterFatBinary(&wrapper);
    registration::RegisterVar(handle, &table_stub, nullptr, "table", 0, 256, 0, 0);
    registration::RegisterFatBinaryEnd(handle);
  }
  RuntimeImpossibleCallTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(device::Set(0), cudaSuccess);
    EXPECT_EQ(memory::Malloc(&memory_, kBytes), cudaSuccess);
  }
  ~RuntimeImpossibleCallTest() override { memory::Free(memory_); }

  void* At(size_t offset) const { return static_cast<char*>(memory_) + offset; }

  // What is refused is remembered as the last error, and no work comes of it.
  void ExpectAll(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      agent_.Reset();
      error_state::GetLast();
      EXPECT_EQ(row.call(), row.expected) << row.name;
      EXPECT_EQ(error_state::GetLast(), row.expected) << row.name;
      if (row.expected == cudaSuccess) continue;
      EXPECT_TRUE(agent_.RecordsOf(RecordKind::kLaunch).empty()) << row.name;
    }
  }

  core::FakeAgent& agent_;
  void* memory_ = nullptr;
  char host_[4096] = {};
};

TEST_F(RuntimeImpossibleCallTest, CopiesBeyondAnAllocation) {
  void* freed = nullptr;
  ASSERT_EQ(memory::Malloc(&freed, kBytes), cudaSuccess);
  ASSERT_EQ(memory::Free(freed), cudaSuccess);
  const auto give = cudaMemcpyHostToDevice;
  const auto take = cudaMemcpyDeviceToHost;

  ExpectAll({
      {"its last bytes", [&] { return copy::Copy(At(kBytes - 16), host_, 16, give); }, cudaSuccess},
      {"no bytes, of nothing", [&] { return copy::Copy(nullptr, nullptr, 0, give); }, cudaSuccess},
      {"no bytes at its end", [&] { return copy::Copy(At(kBytes), host_, 0, give); }, cudaSuccess},
      {"one byte more", [&] { return copy::Copy(At(kBytes - 16), host_, 17, give); },
       cudaErrorInvalidValue},
      {"out, one byte more", [&] { return copy::Copy(host_, At(kBytes - 16), 17, take); },
       cudaErrorInvalidValue},
      {"all addresses", [&] { return copy::Copy(At(0), host_, kMost, give); },
       cudaErrorInvalidValue},
      {"out, all addresses", [&] { return copy::CopyAsync(host_, At(0), kMost, take, nullptr); },
       cudaErrorInvalidValue},
      {"2^63 within the host",
       [&] { return copy::Copy(host_, host_, kMost / 2, cudaMemcpyDefault); },
       cudaErrorInvalidValue},
      {"freed", [&] { return copy::CopyAsync(freed, host_, 1, give, nullptr); },
       cudaErrorInvalidValue},
      {"null", [&] { return copy::Copy(nullptr, host_, 1, give); }, cudaErrorInvalidValue},
      {"no such direction",
       [&] { return copy::Copy(At(0), host_, 1, static_cast<cudaMemcpyKind>(9)); },
       cudaErrorInvalidMemcpyDirection},
      {"peer, whole", [&] { return copy::CopyPeer(At(0), 0, At(kBytes / 2), 0, kBytes / 2); },
       cudaSuccess},
      {"peer, more", [&] { return copy::CopyPeer(At(1), 0, At(0), 0, kBytes); },
       cudaErrorInvalidValue},
      {"peer that is none", [&] { return copy::CopyPeerAsync(At(0), 9, At(8), 0, 8, nullptr); },
       cudaErrorInvalidDevice},
  });
}

TEST_F(RuntimeImpossibleCallTest, PlanesAndVolumesBeyondAnAllocation) {
  const auto plane = [&](size_t pitch, size_t width, size_t height) {
    return [=, this] {
      return copy::Copy2D(At(0), pitch, host_, width, width, height, cudaMemcpyDefault);
    };
  };
  const auto volume = [&](size_t pitch, size_t rows, cudaExtent extent, cudaPos to = {}) {
    return [=, this] {
      cudaMemcpy3DParms parameters = {};
      parameters.dstPtr = {At(0), pitch, pitch, rows};
      parameters.dstPos = to;
      parameters.srcPtr = {At(kBytes / 2), 16, 16, 4};
      parameters.extent = extent;
      parameters.kind = cudaMemcpyDefault;
      return copy::Copy3D(&parameters);
    };
  };
  ExpectAll({
      {"a plane to the last byte", plane((kBytes - 16) / 3, 16, 4), cudaSuccess},
      {"a plane with a row too many", plane((kBytes - 16) / 3, 16, 5), cudaErrorInvalidValue},
      {"a plane with rows that overlap", plane(15, 16, 4), cudaErrorInvalidPitchValue},
      {"a pitch above the largest", plane(size_t{1} << 31, 16, 1), cudaErrorInvalidPitchValue},
      {"a plane that wraps around", plane(16, 16, kMost / 16 + 2), cudaErrorInvalidValue},
      {"a plane without rows", plane(16, 16, 0), cudaSuccess},
      {"a volume", volume(64, 4, {16, 4, 8}), cudaSuccess},
      {"a volume without slices", volume(64, 4, {16, 4, 0}), cudaSuccess},
      {"a volume of narrow rows", volume(8, 4, {16, 4, 8}), cudaErrorInvalidPitchValue},
      {"a volume of low slices", volume(64, 3, {16, 4, 8}), cudaErrorInvalidValue},
      {"a volume too deep", volume(64, 4, {16, 4, kBytes}), cudaErrorInvalidValue},
      {"a volume that begins behind", volume(64, 4, {16, 4, 8}, {0, 0, kBytes}),
       cudaErrorInvalidValue},
      {"a position that wraps around", volume(64, 4, {16, 4, 8}, {0, 0, kMost / 256 + 1}),
       cudaErrorInvalidValue},
      {"a volume beside its rows", volume(64, 4, {16, 4, 8}, {49, 0, 0}), cudaErrorInvalidValue},
      {"nothing said", [] { return copy::Copy3D(nullptr); }, cudaErrorInvalidValue},
  });
}

TEST_F(RuntimeImpossibleCallTest, MemsetsBeyondAnAllocation) {
  const auto volume = [&](size_t pitch, size_t rows, cudaExtent extent) {
    return [=, this] { return copy::Set3D({At(0), pitch, pitch, rows}, 1, extent); };
  };
  ExpectAll({
      {"the whole", [&] { return copy::Set(At(0), 1, kBytes); }, cudaSuccess},
      {"no bytes", [&] { return copy::Set(nullptr, 1, 0); }, cudaSuccess},
      {"one byte more", [&] { return copy::Set(At(1), 1, kBytes); }, cudaErrorInvalidValue},
      {"all addresses", [&] { return copy::SetAsync(At(1), 1, kMost, nullptr); },
       cudaErrorInvalidValue},
      {"plain host memory", [&] { return copy::Set(host_, 1, 1); }, cudaErrorInvalidValue},
      {"a plane", [&] { return copy::Set2D(At(0), kBytes / 4, 1, 16, 4); }, cudaSuccess},
      {"a plane with a row too many", [&] { return copy::Set2D(At(0), kBytes / 4, 1, 16, 5); },
       cudaErrorInvalidValue},
      {"a plane of narrow rows", [&] { return copy::Set2D(At(0), 8, 1, 16, 2); },
       cudaErrorInvalidValue},
      {"one row of any pitch", [&] { return copy::Set2D(At(0), 0, 1, 16, 1); }, cudaSuccess},
      {"2^64 bytes in rows", [&] { return copy::Set2D(At(0), 2, 1, 2, kMost / 2 + 1); },
       cudaErrorInvalidValue},
      {"a volume", volume(64, 4, {16, 4, 8}), cudaSuccess},
      {"a volume too deep", volume(64, 4, {16, 4, kBytes}), cudaErrorInvalidValue},
      {"slices of 2^64 bytes", volume(kMost / 2 + 1, 2, {16, 2, 2}), cudaErrorInvalidValue},
  });
}

TEST_F(RuntimeImpossibleCallTest, PartsOfSymbols) {
  const auto to = [&](const void* symbol, size_t count, size_t offset) {
    return [=, this] {
      return copy::CopyToSymbol(symbol, host_, count, offset, cudaMemcpyHostToDevice);
    };
  };
  ExpectAll({
      {"its last bytes", to(&table_stub, 16, 240), cudaSuccess},
      {"one byte more", to(&table_stub, 16, 241), cudaErrorInvalidValue},
      {"an offset that wraps around", to(&table_stub, 16, kMost - 8), cudaErrorInvalidValue},
      {"no symbol", to(host_, 16, 0), cudaErrorInvalidSymbol},
      {"out, more than all",
       [&] {
         return copy::CopyFromSymbolAsync(host_, &table_stub, 257, 0, cudaMemcpyDeviceToHost,
                                          nullptr);
       },
       cudaErrorInvalidValue},
  });
}

TEST_F(RuntimeImpossibleCallTest, AllocationsThatNobodyHas) {
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaPitchedPtr pitched = {};
  const auto rows = [&](size_t width, size_t height) {
    return [=, &pointer, &pitch] { return memory::MallocPitch(&pointer, &pitch, width, height); };
  };
  ExpectAll({
      {"all addresses", [&] { return memory::Malloc(&pointer, kMost); }, cudaErrorMemoryAllocation},
      {"2^63", [&] { return memory::Malloc(&pointer, kMost / 2 + 1); }, cudaErrorMemoryAllocation},
      {"nothing", [&] { return memory::Malloc(&pointer, 0); }, cudaSuccess},
      {"rows of all addresses", rows(kMost, 1), cudaErrorMemoryAllocation},
      {"2^64 bytes in rows", rows(size_t{1} << 32, size_t{1} << 32), cudaErrorMemoryAllocation},
      {"a volume of 2^64 bytes",
       [&] {
         return memory::Malloc3D(&pitched, {512, size_t{1} << 32, size_t{1} << 23});
       },
       cudaErrorMemoryAllocation},
      {"on the host", [&] { return memory::HostAlloc(&pointer, kMost, 0); },
       cudaErrorMemoryAllocation},
      {"managed", [&] { return memory::MallocManaged(&pointer, kMost, cudaMemAttachGlobal); },
       cudaErrorMemoryAllocation},
      {"of a pool", [&] { return pool::MallocAsync(&pointer, kMost, nullptr); },
       cudaErrorMemoryAllocation},
      {"registered", [&] { return memory::HostRegister(host_, kMost, 0); }, cudaErrorInvalidValue},
      {"registered, of the GPU", [&] { return memory::HostRegister(At(0), 4096, 0); },
       cudaErrorInvalidValue},
  });
}

}  // namespace
}  // namespace eidolon::shim::cuda_runtime
