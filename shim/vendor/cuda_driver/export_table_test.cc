#include "shim/vendor/cuda_driver/export_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "shim/core/fake_agent.h"
#include "shim/vendor/cuda_driver/driver_digest.h"
#include "shim/vendor/cuda_driver/handlers.h"

namespace eidolon::shim::cuda_driver {
namespace {

CUuuid Id(std::array<unsigned char, 16> bytes) {
  CUuuid id;
  std::memcpy(id.bytes, bytes.data(), bytes.size());
  return id;
}

const CUuuid kInterface = Id({0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9,
                              0x39, 0x12, 0xfd, 0x9d, 0xf9});
const CUuuid kStorage = Id({0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3,
                            0x55, 0xd8, 0x95, 0x93});
const CUuuid kDigest = Id({0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12,
                           0x3c, 0x66, 0xe1, 0xf2});

class ExportTableTest : public ::testing::Test {
 protected:
  ExportTableTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(start::Init(0), CUDA_SUCCESS);
    EXPECT_EQ(context::PrimaryRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(context::SetCurrent(context_), CUDA_SUCCESS);
    agent_.Reset();
  }

  static void* const* TableOf(const CUuuid& id) {
    const void* table = nullptr;
    EXPECT_EQ(export_table::Get(&table, &id), CUDA_SUCCESS);
    return static_cast<void* const*>(table);
  }
  std::string RefusedCalls() {
    std::string all;
    for (const auto& record : agent_.RecordsOf(ring::RecordKind::kRefusedCall)) {
      all.append(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size());
    }
    return all;
  }

  core::FakeAgent& agent_;
  CUcontext context_ = nullptr;
};

template <typename Function>
Function* Entry(void* const* table, int number) {
  return reinterpret_cast<Function*>(table[number]);
}

TEST_F(ExportTableTest, TablesThatTheirAskersDoWithoutAreNoRefusal) {
  CUuuid asked = Id({0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5,
                     0x33, 0xe3, 0x28});
  const void* table = &asked;
  EXPECT_EQ(export_table::Get(&table, &asked), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
  asked = Id({0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c,
              0x0d, 0xd9});
  EXPECT_EQ(export_table::Get(&table, &asked), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(RefusedCalls(), "");
}

TEST_F(ExportTableTest, AnUnknownTableIsRefusedByItsName) {
  const CUuuid asked = Id({0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8});
  const void* table = &asked;
  EXPECT_EQ(export_table::Get(&table, &asked), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(table, nullptr);
  EXPECT_NE(RefusedCalls().find("cuGetExportTable 12345678-9abc-def0-0102-030405060708"),
            std::string::npos);
}

TEST_F(ExportTableTest, AnUnknownEntryIsRefusedByTableAndNumber) {
  void* const* table = TableOf(kInterface);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table[0]), 13 * sizeof(void*));
  EXPECT_EQ(Entry<CUresult()>(table, 11)(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_NE(RefusedCalls().find("6bd5fb6c-5bf4-e74a-8987-d93912fd9df9 entry 11"),
            std::string::npos);
}

TEST_F(ExportTableTest, TheRuntimesInterfaceGivesPrimaryContexts) {
  CUcontext given = nullptr;
  EXPECT_EQ((Entry<CUresult(CUcontext*, CUdevice)>(TableOf(kInterface), 2)(&given, 0)),
            CUDA_SUCCESS);
  EXPECT_EQ(given, context_);
}

int ended_with = 0;

TEST_F(ExportTableTest, ContextsKeepWhatLibrariesPutBesideThem) {
  void* const* table = TableOf(kStorage);
  auto* put = Entry<CUresult(CUcontext, void*, void*, void (*)(CUcontext, void*, void*))>(table, 0);
  auto* remove = Entry<CUresult(CUcontext, void*)>(table, 1);
  auto* get = Entry<CUresult(void**, CUcontext, void*)>(table, 2);
  int key = 0;
  int value = 7;
  void* found = nullptr;
  const auto at_end = [](CUcontext, void*, void* kept) { ended_with = *static_cast<int*>(kept); };

  EXPECT_EQ(get(&found, nullptr, &key), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(put(nullptr, &key, &value, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(get(&found, context_, &key), CUDA_SUCCESS);
  EXPECT_EQ(found, &value);
  EXPECT_EQ(remove(context_, &key), CUDA_SUCCESS);
  EXPECT_EQ(get(&found, context_, &key), CUDA_ERROR_INVALID_HANDLE);

  CUcontext other = nullptr;
  ASSERT_EQ(context::Create(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(put(other, &key, &value, at_end), CUDA_SUCCESS);
  EXPECT_EQ(context::Destroy(other), CUDA_SUCCESS);
  EXPECT_EQ(ended_with, 7);
}

TEST_F(ExportTableTest, TheDigestIsThatOfThisProcessAndItsDevices) {
  auto* digest = Entry<CUresult(std::uint32_t, std::uint64_t, void*)>(TableOf(kDigest), 1);
  Digest first{};
  Digest again{};
  Digest later{};
  EXPECT_EQ(digest(13022, 1'700'000'000, first.data()), CUDA_SUCCESS);
  EXPECT_EQ(digest(13022, 1'700'000'000, again.data()), CUDA_SUCCESS);
  EXPECT_EQ(digest(13022, 1'700'000'001, later.data()), CUDA_SUCCESS);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, later);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
