#include "services/timing/gpu_model/gpu_catalog.h"
#include "source_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace eidolon::timing::gpu_model {
namespace {

using testing::HasSubstr;

// A directory that is removed with the test.
class GpuCatalogTest : public testing::Test {
 protected:
  GpuCatalogTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpu_catalog.XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~GpuCatalogTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& file, const std::string& name) {
    std::ifstream in(EIDOLON_SOURCE_DIR "/services/timing/gpu_model/models/L40S.yaml");
    std::ostringstream text;
    text << in.rdbuf();
    std::string copy = text.str();
    copy.replace(copy.find("name: L40S"), 10, "name: " + name);
    std::ofstream(std::filesystem::path(directory_) / file) << copy;
  }

  std::string directory_;
};

TEST_F(GpuCatalogTest, BuiltInModelsAreThoseWithoutAUsersFiles) {
  EXPECT_EQ(GpuCatalog::BuiltIn().names(), GpuCatalog::Load("")->names());
}

TEST_F(GpuCatalogTest, EveryBuiltInModelIsValidAndNamedAsItsFile) {
  const auto catalog = GpuCatalog::Load("");

  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_GE(catalog->names().size(), 10u);
  for (const std::string& name : catalog->names()) {
    EXPECT_TRUE(std::filesystem::exists(std::string(EIDOLON_SOURCE_DIR) +
                                        "/services/timing/gpu_model/models/" + name + ".yaml"))
        << name;
    // Or short measurements would vanish in the gap that the device engine adds to them.
    const gpu_model::GpuModel& gpu = **catalog->Find(name);
    EXPECT_GT(gpu.kernel_floor, gpu.launch_gap) << name;
  }
}

TEST_F(GpuCatalogTest, UnknownGpuNamesTheNearestAndAllKnown) {
  const auto catalog = GpuCatalog::Load("");

  const auto found = catalog->Find("H100-SXM-80GB");

  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("did you mean 'H100-SXM5-80GB'"));
  EXPECT_THAT(found.error().message, HasSubstr("B200-SXM-180GB"));
}

TEST_F(GpuCatalogTest, AUserFileAddsAModel) {
  Write("mine.yaml", "MyGpu");

  const auto catalog = GpuCatalog::Load(directory_);

  ASSERT_TRUE(catalog) << catalog.error().message;
  EXPECT_EQ((*catalog->Find("MyGpu"))->multiprocessors, 142u);
}

TEST_F(GpuCatalogTest, TwoUserFilesOfOneNameAreRefused) {
  Write("a.yaml", "MyGpu");
  Write("b.yaml", "MyGpu");

  const auto catalog = GpuCatalog::Load(directory_);

  ASSERT_FALSE(catalog);
  EXPECT_THAT(catalog.error().message, HasSubstr("b.yaml: GPU model 'MyGpu' stands in another"));
}

TEST_F(GpuCatalogTest, AMissingDirectoryIsNamed) {
  const auto catalog = GpuCatalog::Load("/does/not/exist");

  ASSERT_FALSE(catalog);
  EXPECT_THAT(catalog.error().message, HasSubstr("/does/not/exist"));
}

}  // namespace
}  // namespace eidolon::timing::gpu_model
