#include "shim/gpu/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "shim/core/fake_agent.h"

namespace eidolon::shim::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DeviceTest : public ::testing::Test {
 protected:
  std::vector<ring::DeviceProperties> all_ = {core::DefaultDevice(0), core::DefaultDevice(1),
                                              core::DefaultDevice(2)};
};

TEST_F(DeviceTest, NumbersSelectInTheirOrder) {
  EXPECT_THAT(SelectDevices("2,0", all_), ElementsAre(2, 0));
  EXPECT_THAT(SelectDevices(" 1 , 2 ", all_), ElementsAre(1, 2));
}

TEST_F(DeviceTest, TheFirstInvalidEntryEndsTheList) {
  EXPECT_THAT(SelectDevices("1,7,0", all_), ElementsAre(1));
  EXPECT_THAT(SelectDevices("1,1,0", all_), ElementsAre(1));
  EXPECT_THAT(SelectDevices("-1", all_), IsEmpty());
  EXPECT_THAT(SelectDevices("", all_), IsEmpty());
}

TEST_F(DeviceTest, AUuidPrefixSelectsItsDeviceAndAnAmbiguousOneNone) {
  char uuid[41];
  FormatUuid(all_[1].uuid, uuid);
  EXPECT_STREQ(uuid, "GPU-11121314-1516-1718-191a-1b1c1d1e1f20");

  EXPECT_THAT(SelectDevices(uuid, all_), ElementsAre(1));
  EXPECT_THAT(SelectDevices("GPU-1112", all_), ElementsAre(1));
  EXPECT_THAT(SelectDevices("GPU-", all_), IsEmpty());
}

}  // namespace
}  // namespace eidolon::shim::gpu
