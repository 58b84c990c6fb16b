#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "services/base/hash.h"
#include "services/timing/measure/channel.h"
#include "services/timing/measure/module_store.h"
#include "services/timing/measure/worker_process.h"

namespace eidolon::timing::measure {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

class MeasureTest : public testing::Test {
 protected:
  MeasureTest() : folder_(testing::TempDir() + "/measure-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  ~MeasureTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string folder_;
};

std::string HashOf(const std::string& code) {
  const base::Digest digest = base::Hash128(code.data(), code.size());
  std::string hash(reinterpret_cast<const char*>(&digest.high), 8);
  return hash.append(reinterpret_cast<const char*>(&digest.low), 8);
}

TEST_F(MeasureTest, MessagesArriveWholeAndInOrder) {
  auto listener = *Listener::At(folder_ + "/socket");
  const std::string large(3 << 20, 'x');
  std::jthread other([&] {
    auto channel = *Channel::Connect(folder_ + "/socket");
    EXPECT_TRUE(channel.Send("one"));
    EXPECT_TRUE(channel.Send(""));
    EXPECT_TRUE(channel.Send(large));
  });

  auto channel = *listener.Accept(-1);

  EXPECT_EQ(*channel.Receive(-1), "one");
  EXPECT_EQ(*channel.Receive(-1), "");
  EXPECT_EQ(*channel.Receive(-1), large);
  EXPECT_EQ(channel.Receive(-1).error().code, ErrorCode::kUnavailable);
}

TEST_F(MeasureTest, SilenceAndNonsenseAreErrors) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Channel channel(ends[0]);

  EXPECT_EQ(channel.Receive(1).error().code, ErrorCode::kResourceExhausted);
  ASSERT_EQ(write(ends[1], "\xff\xff\xff\xff", 4), 4);
  EXPECT_EQ(channel.Receive(-1).error().code, ErrorCode::kCorrupt);
  ASSERT_EQ(write(ends[1], "\x08\x00\x00\x00half", 8), 8);
  close(ends[1]);
  EXPECT_EQ(channel.Receive(-1).error().code, ErrorCode::kUnavailable);
}

TEST_F(MeasureTest, ModulesAreCheckedKeptAndBounded) {
  ModuleStore store(folder_, 10);
  const std::string code = "module";

  EXPECT_FALSE(store.Has(HashOf(code)));
  EXPECT_EQ(store.Add(std::string(16, 'h'), code).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(store.Add(HashOf(code), code));
  EXPECT_TRUE(store.Add(HashOf(code), code));
  EXPECT_TRUE(store.Has(HashOf(code)));
  EXPECT_EQ(std::filesystem::file_size(store.FileOf(HashOf(code))), code.size());
  EXPECT_EQ(store.Add(HashOf("other"), "other").error().code, ErrorCode::kResourceExhausted);
}

TEST_F(MeasureTest, AFullDiskIsToldAndNothingIsKept) {
  ModuleStore store(folder_ + "/absent", 100);

  EXPECT_EQ(store.Add(HashOf("code"), "code").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store.Has(HashOf("code")));
}

TEST_F(MeasureTest, AProgramThatEndsOrIsMissingIsTold) {
  const auto start = [&](std::vector<std::string> command, std::int64_t limit_ms) {
    const auto worker = WorkerProcess::Start(
        {.command = std::move(command), .socket = folder_ + "/s", .start_limit_ms = limit_ms});
    return worker ? std::string("started") : worker.error().message;
  };

  EXPECT_THAT(start({"sh", "-c", "exit 7"}, 60'000), HasSubstr("ended with exit status 7"));
  EXPECT_THAT(start({"/nowhere/worker"}, 60'000), HasSubstr("ended with exit status 127"));
  EXPECT_THAT(start({"sh", "-c", "kill -9 $$"}, 60'000), HasSubstr("ended with signal 9"));
  EXPECT_THAT(start({"sh", "-c", "sleep 600"}, 100), HasSubstr("did not connect in time"));
}

}  // namespace
}  // namespace eidolon::timing::measure
