#include "services/agent/ring/server_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "services/testing/small_disk.h"

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

TEST_F(ServerPageTest, NamesADiskThatIsFull) {
  testing::SmallDisk disk(1);
  if (!disk.why_missing().empty()) GTEST_SKIP() << disk.why_missing();
  disk.Fill();

  const auto page = ServerPage::Create(disk.path(), wire::HostModel::kFixed, 0);

  ASSERT_FALSE(page.has_value());
  EXPECT_NE(page.error().message.find("No space left on device"), std::string::npos);
}

TEST_F(ServerPageTest, NamesADirectoryThatDoesNotExist) {
  const auto page = ServerPage::Create("/nonexistent/run", wire::HostModel::kFixed, 0);

  ASSERT_FALSE(page.has_value());
  EXPECT_NE(page.error().message.find("/nonexistent/run/server.page"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::agent::ring
