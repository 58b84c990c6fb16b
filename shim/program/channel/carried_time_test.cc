// A process of a job without a GPU: what it reads moves its clock, and what it starts and sends
// goes on from there. A rank is played by writing to the table as one does.
#include "shim/program/channel/carried_time.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <new>
#include <string>

#include "services/contract/channel/delivery_table.h"
#include "services/contract/ring/layout.h"
#include "shim/program/channel/channel_key.h"
#include "shim/program/channel/deliveries.h"
#include "shim/program/time/new_program.h"
#include "shim/program/time/test_world.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::channel {
namespace {

using eidolon::channel::DeliveryTable;
using eidolon::channel::Sender;
using time::SentTime;

constexpr std::int64_t kSecondPs = 1'000'000'000'000;

void* MapNew(const std::string& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped;
}

struct Job {
  ring::ServerPage* page = nullptr;
  DeliveryTable* table = nullptr;
};

// Makes this process part of a job, before anything in it asks.
Job MakeJob() {
  std::string folder = testing::TempDir() + "/carried_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return {};
  Job job{
      .page =
          static_cast<ring::ServerPage*>(MapNew(folder + "/server.page", ring::kServerPageBytes)),
      .table = static_cast<DeliveryTable*>(MapNew(folder + "/channels", sizeof(DeliveryTable)))};
  job.page->magic = ring::kMagic;
  job.page->version = ring::kVersion;
  job.page->host_model = ring::HostModel::kFixed;
  setenv("EIDOLON_RUN_DIR", folder.c_str(), 1);
  return job;
}

const Job job = MakeJob();

std::int64_t NowPs() { return time::OwnNow().ps; }

SentTime RankAt(std::int64_t seconds) {
  return {.time = {seconds * kSecondPs}, .start_up = {}, .sender = Sender::kAsRank};
}

// Bytes that a rank sends: past the exports, which would tell this process's own time.
void SendAsRank(int file, const std::string& bytes, std::int64_t seconds) {
  Deliveries(job.table).Send(SendingKey(file), bytes.size(), RankAt(seconds));
  ASSERT_EQ(core::RawSyscall(SYS_write, file, reinterpret_cast<long>(bytes.data()),
                             static_cast<long>(bytes.size())),
            static_cast<long>(bytes.size()));
}

class CarriedTimeTest : public ::testing::Test {
 protected:
  CarriedTimeTest() {
    time::BeginNewProgram();
    EXPECT_EQ(pipe(pipe_.data()), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_.data()), 0);
  }
  ~CarriedTimeTest() override {
    for (const int file : {pipe_[0], pipe_[1], sockets_[0], sockets_[1]}) close(file);
  }
  std::array<int, 2> pipe_;
  std::array<int, 2> sockets_;
  std::array<char, 64> bytes_{};
};

TEST_F(CarriedTimeTest, AReaderIsWhereTheRankWasThatWrote) {
  SendAsRank(pipe_[1], "one", 100);
  SendAsRank(pipe_[1], "two", 200);

  EXPECT_EQ(read(pipe_[0], bytes_.data(), 3), 3);
  EXPECT_EQ(NowPs(), 100 * kSecondPs);
  iovec part{.iov_base = bytes_.data(), .iov_len = 3};
  EXPECT_EQ(readv(pipe_[0], &part, 1), 3);
  EXPECT_EQ(NowPs(), 200 * kSecondPs);
}

TEST_F(CarriedTimeTest, EveryCallThatReadsASocketCarriesTime) {
  iovec part{.iov_base = bytes_.data(), .iov_len = 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  for (int i = 1; i <= 4; ++i) SendAsRank(sockets_[1], "x", i);

  EXPECT_EQ(recv(sockets_[0], bytes_.data(), 1, MSG_PEEK), 1);
  EXPECT_LT(NowPs(), kSecondPs);  // It is read later.
  EXPECT_EQ(recv(sockets_[0], bytes_.data(), 1, 0), 1);
  EXPECT_EQ(NowPs(), 1 * kSecondPs);
  EXPECT_EQ(recvfrom(sockets_[0], bytes_.data(), 1, 0, nullptr, nullptr), 1);
  EXPECT_EQ(NowPs(), 2 * kSecondPs);
  EXPECT_EQ(recvmsg(sockets_[0], &message, 0), 1);
  EXPECT_EQ(NowPs(), 3 * kSecondPs);
  EXPECT_EQ(read(sockets_[0], bytes_.data(), 1), 1);
  EXPECT_EQ(NowPs(), 4 * kSecondPs);
}

TEST_F(CarriedTimeTest, WhatAProcessSendsIsAsLateAsItIsItself) {
  SendAsRank(pipe_[1], "x", 100);
  EXPECT_EQ(read(pipe_[0], bytes_.data(), 1), 1);

  iovec part{.iov_base = bytes_.data(), .iov_len = 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  EXPECT_EQ(write(sockets_[0], "x", 1), 1);
  EXPECT_EQ(writev(sockets_[0], &part, 1), 1);
  EXPECT_EQ(send(sockets_[0], "x", 1, 0), 1);
  EXPECT_EQ(sendto(sockets_[0], "x", 1, 0, nullptr, 0), 1);
  EXPECT_EQ(sendmsg(sockets_[0], &message, 0), 1);

  const auto sent = Deliveries(job.table).Receive(ReceivingKey(sockets_[1]), 5);
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->time.ps, 100 * kSecondPs);
  EXPECT_EQ(sent->sender, Sender::kByOthers);
}

TEST_F(CarriedTimeTest, BytesThatAFullChannelRefusesAreNotCounted) {
  ASSERT_EQ(fcntl(pipe_[1], F_SETFL, O_NONBLOCK), 0);
  std::array<char, 4096> block{};
  std::uint64_t written = 0;
  while (true) {
    const ssize_t size = write(pipe_[1], block.data(), block.size());
    if (size < 0) break;
    written += static_cast<std::uint64_t>(size);
  }
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_GT(written, 0u);

  for (const auto& channel : job.table->channels) {
    if (channel.key == SendingKey(pipe_[1])) {
      EXPECT_EQ(channel.sent, written);
    }
  }
}

TEST_F(CarriedTimeTest, AParentIsWhereItsChildEnded) {
  const pid_t child = fork();
  if (child == 0) {
    time::ReceiveTime(RankAt(300));
    NoteEnd();
    core::RawSyscall(SYS_exit_group, 0);
  }

  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(NowPs(), 300 * kSecondPs);
}

TEST_F(CarriedTimeTest, AProcessThatHasHeardNothingMovesNobody) {
  EXPECT_EQ(write(pipe_[1], "x", 1), 1);
  EXPECT_EQ(read(pipe_[0], bytes_.data(), 1), 1);

  EXPECT_FALSE(time::FollowsReceivedTime());
}

TEST_F(CarriedTimeTest, AProcessThatGoesByOthersSleepsUntilTheJobIsThere) {
  SendAsRank(pipe_[1], "x", 100);
  EXPECT_EQ(read(pipe_[0], bytes_.data(), 1), 1);
  job.page->job_clock_ps = static_cast<std::uint64_t>(103 * kSecondPs);

  time::RealTimer timer;
  ::sleep(2);
  EXPECT_LT(timer.Seconds(), time::kSoon);
  EXPECT_EQ(NowPs(), 102 * kSecondPs);
}

}  // namespace
}  // namespace eidolon::shim::channel
