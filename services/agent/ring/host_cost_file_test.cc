#include "services/agent/ring/host_cost_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "services/contract/ring/shared_host_costs.h"

namespace eidolon::agent::ring {
namespace {

namespace wire = ::eidolon::ring;

class HostCostFileTest : public ::testing::Test {
 protected:
  HostCostFileTest() {
    char path[] = "/tmp/eidolon-test-XXXXXX";
    EXPECT_NE(mkdtemp(path), nullptr);
    directory_ = path;
  }
  ~HostCostFileTest() override { std::filesystem::remove_all(directory_); }

  wire::SharedHostCost* Map() const {
    const int file = open((directory_ + "/host.costs").c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_GE(file, 0);
    void* mapped =
        mmap(nullptr, wire::kSharedHostCostBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT_NE(ftruncate(file, 0), 0) << "the size is sealed";
    close(file);
    return mapped == MAP_FAILED ? nullptr : static_cast<wire::SharedHostCost*>(mapped);
  }
  std::string directory_;
};

TEST_F(HostCostFileTest, ProcessesSeeWhatOthersWrite) {
  auto file = HostCostFile::Create(directory_);
  ASSERT_TRUE(file.has_value());

  wire::SharedHostCost* one = Map();
  wire::SharedHostCost* other = Map();
  ASSERT_TRUE(one != nullptr && other != nullptr);
  EXPECT_EQ(one[wire::kSharedHostCosts - 1].place.load(), 0u);
  one[5].samples[3].store(7);

  EXPECT_EQ(other[5].samples[3].load(), 7);
  munmap(one, wire::kSharedHostCostBytes);
  munmap(other, wire::kSharedHostCostBytes);
}

TEST_F(HostCostFileTest, AMissingRunDirectoryIsAnError) {
  EXPECT_FALSE(HostCostFile::Create(directory_ + "/missing").has_value());
}

}  // namespace
}  // namespace eidolon::agent::ring
