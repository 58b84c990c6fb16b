#include "services/agent/ring/server_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace eidolon::agent::ring {
namespace {

class ServerPageTest : public ::testing::Test {
 protected:
  ServerPageTest() {
    char path[] = "/tmp/eidolon-page-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ServerPageTest() override {
    unlink((directory_ + "/server.page").c_str());
    unlink((directory_ + "/channels").c_str());
    rmdir(directory_.c_str());
  }
  std::string directory_;
};

TEST_F(ServerPageTest, TheJobClockOnlyGrows) {
  auto page = ServerPage::Create(directory_, wire::HostModel::kFixed, 0);
  ASSERT_TRUE(page.has_value());

  page->RaiseJobClock(9);
  page->RaiseJobClock(5);

  EXPECT_EQ(page->job_clock_ps(), 9u);
}

TEST_F(ServerPageTest, ARingEndsTheSleep) {
  auto page = ServerPage::Create(directory_, wire::HostModel::kFixed, 0);
  ASSERT_TRUE(page.has_value());
  const auto seen = page->doorbell();

  std::thread visitor([&] { page->Ring(); });
  page->Sleep(seen, 60'000'000'000);  // A lost wake-up would run into the test's time limit.

  EXPECT_NE(page->doorbell(), seen);
  visitor.join();
}

TEST_F(ServerPageTest, OthersFindThePageButOnlyTheAgentWritesIt) {
  auto page = ServerPage::Create(directory_, wire::HostModel::kFixed, 0);
  ASSERT_TRUE(page.has_value());
  const std::string path = directory_ + "/server.page";

  const int file = open(path.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  void* mapped = mmap(nullptr, wire::kServerPageBytes, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  page->RaiseJobClock(77);
  EXPECT_EQ(static_cast<const wire::ServerPage*>(mapped)->job_clock_ps.load(), 77u);

  EXPECT_NE(ftruncate(file, 0), 0);
  EXPECT_NE(truncate(path.c_str(), 0), 0);
  EXPECT_LT(pwrite(file, "x", 1, 0), 0);
  EXPECT_NE(mprotect(mapped, wire::kServerPageBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(mmap(nullptr, wire::kServerPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
            MAP_FAILED);
  EXPECT_NE(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  munmap(mapped, wire::kServerPageBytes);
  close(file);
}

TEST_F(ServerPageTest, TheDoorbellCannotBeCut) {
  auto page = ServerPage::Create(directory_, wire::HostModel::kFixed, 0);
  ASSERT_TRUE(page.has_value());

  EXPECT_NE(ftruncate(page->doorbell_descriptor(), 0), 0);
  EXPECT_NE(ftruncate(page->doorbell_descriptor(), 2 * wire::kDoorbellBytes), 0);
}

TEST_F(ServerPageTest, NamesADirectoryThatDoesNotExist) {
  const auto page = ServerPage::Create("/nonexistent/run", wire::HostModel::kFixed, 0);

  ASSERT_FALSE(page.has_value());
  EXPECT_NE(page.error().message.find("/nonexistent/run/server.page"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::agent::ring
