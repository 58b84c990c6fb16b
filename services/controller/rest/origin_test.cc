#include "services/controller/rest/origin.h"

#include <gtest/gtest.h>

namespace eidolon::controller::rest {
namespace {

TEST(OriginTest, OnlyLiteralsAndTheNameOfLoopbackMeanThisMachine) {
  for (const char* host :
       {"localhost", "LocalHost", "localhost.", "127.0.0.1", "127.255.3.4", "::1", "[::1]"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host :
       {"", "127.", "127.evil.example", "127.0.0.1.evil.example", "127.0.0.256", "127.0.0",
        "127.0.0.0x1", "127.0.0.+1", "128.0.0.1", "localhost.evil.example", "xlocalhost", "::2"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

TEST(OriginTest, AHostHeaderLosesItsPort) {
  EXPECT_EQ(HostOf("localhost:8080"), "localhost");
  EXPECT_EQ(HostOf("localhost"), "localhost");
  EXPECT_EQ(HostOf("[::1]:8080"), "[::1]");
  EXPECT_EQ(HostOf("[::1]"), "[::1]");
  EXPECT_EQ(HostOf("[::1]evil.example"), "[::1]evil.example");
  EXPECT_EQ(HostOf("[::1"), "[::1");
}

TEST(OriginTest, AnOriginIsTheServerItselfOrForeign) {
  EXPECT_TRUE(IsSameOrigin("http://localhost:8080", "localhost:8080"));
  EXPECT_TRUE(IsSameOrigin("HTTP://LOCALHOST:8080", "localhost:8080"));
  EXPECT_TRUE(IsSameOrigin("https://eidolon.example", "eidolon.example"));
  for (const char* origin : {"null", "", "http://", "http://localhost:8081", "http://localhost",
                             "http://localhost:8080.evil.example", "file://localhost:8080"}) {
    EXPECT_FALSE(IsSameOrigin(origin, "localhost:8080")) << origin;
  }
  EXPECT_FALSE(IsSameOrigin("http://", ""));
}

}  // namespace
}  // namespace eidolon::controller::rest
