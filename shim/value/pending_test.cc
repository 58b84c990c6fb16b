#include "shim/value/pending.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <set>
#include <string>
#include <thread>

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kPendingBase = 0x200000000000;

std::size_t last_unknown = 0;
void KeepUnknown(const HostRead& read, Store&) { last_unknown = read.unknown_bytes; }

class PendingTest : public ::testing::Test {
 protected:
  PendingTest()
      : pending_(store_, [this](std::uint64_t, std::uint64_t sequence, bool wait,
                                std::vector<std::byte>* bytes) {
          if (wait) ready_.insert(sequence);
          if (!ready_.contains(sequence)) return Fetch::kNotYet;
          if (sequence == kLostSequence) return Fetch::kLost;
          std::memset(bytes->data(), static_cast<int>('A' + sequence), bytes->size());
          return Fetch::kReady;
        }) {}

  static constexpr std::uint64_t kLostSequence = 20;
  Store store_;
  std::set<std::uint64_t> ready_;
  Pending pending_;
};

TEST_F(PendingTest, ACopyOfAnOutstandingResultHappensWhenTheResultIsThere) {
  pending_.AwaitCollective(1, 0, kPendingBase, 4);
  pending_.Copy(kPendingBase + 512, kPendingBase, 4);
  char host[5] = "....";
  pending_.Read(kPendingBase + 512, host, 4, 0, KeepUnknown);
  pending_.Drain();
  EXPECT_STREQ(host, "....");

  ready_.insert(0);
  pending_.Drain();
  EXPECT_STREQ(host, "AAAA");
  EXPECT_EQ(last_unknown, 0u);
  EXPECT_EQ(pending_.waiting(), 0u);
}

// Leaves what the test says.
class Foreseen : public Deferred {
 public:
  explicit Foreseen(Lookahead lookahead) : lookahead_(lookahead) {}
  void Perform(Store&) override {}
  Lookahead Foresee(Store&, std::uint64_t, std::size_t, const Before&) override {
    return lookahead_;
  }

 private:
  const Lookahead lookahead_;
};

// Becomes known when its input is.
class Follower : public Deferred {
 public:
  Follower(std::uint64_t target, std::uint64_t input) : target_(target), input_(input) {}
  void Perform(Store& store) override {
    if (store.IsKnown(input_, 1)) store.Copy(target_, input_, 1);
  }
  Lookahead Foresee(Store&, std::uint64_t address, std::size_t, const Before& before) override {
    if (address != target_) return Lookahead::kNothing;
    return before(input_, 1) ? Lookahead::kMay : Lookahead::kUnknown;
  }

 private:
  const std::uint64_t target_;
  const std::uint64_t input_;
};

class LookaheadTest : public PendingTest {
 protected:
  LookaheadTest() { pending_.AwaitCollective(1, 0, kPendingBase, 4); }

  // The result is still outstanding: nobody waited for it.
  bool IsOutstanding() const { return pending_.waiting() > 0; }
};

TEST_F(LookaheadTest, WhatIsUnknownInAnyCaseIsNotWaitedFor) {
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kNothing));

  EXPECT_FALSE(pending_.IsKnown(kPendingBase + 512, 4));

  EXPECT_TRUE(IsOutstanding());
}

TEST_F(LookaheadTest, WhatMayBecomeKnownIsWaitedFor) {
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kMay));

  EXPECT_FALSE(pending_.IsKnown(kPendingBase + 512, 4));

  EXPECT_FALSE(IsOutstanding());
}

TEST_F(LookaheadTest, TheLastWorkThatSaysSomethingCounts) {
  pending_.Write(kPendingBase + 512, "old!", 4);
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kMay));
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kUnknown));
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kNothing));

  EXPECT_FALSE(pending_.IsKnown(kPendingBase + 512, 4));

  EXPECT_TRUE(IsOutstanding());
}

TEST_F(LookaheadTest, AnOutstandingResultIsWaitedFor) {
  EXPECT_TRUE(pending_.IsKnown(kPendingBase, 4));
  EXPECT_FALSE(IsOutstanding());
}

TEST_F(LookaheadTest, ACopyIsForeseenByItsSource) {
  pending_.Defer(std::make_unique<Foreseen>(Lookahead::kNothing));
  pending_.Copy(kPendingBase + 1024, kPendingBase + 512, 4);
  EXPECT_FALSE(pending_.IsKnown(kPendingBase + 1024, 4));
  EXPECT_TRUE(IsOutstanding());

  pending_.Copy(kPendingBase + 1024, kPendingBase, 4);
  EXPECT_TRUE(pending_.IsKnown(kPendingBase + 1024, 4));
  EXPECT_FALSE(IsOutstanding());
}

TEST_F(LookaheadTest, WorkIsForeseenByItsInput) {
  pending_.Defer(std::make_unique<Follower>(kPendingBase + 512, kPendingBase + 256));
  pending_.Defer(std::make_unique<Follower>(kPendingBase + 768, kPendingBase + 512));
  EXPECT_FALSE(pending_.IsKnown(kPendingBase + 768, 1));
  EXPECT_TRUE(IsOutstanding());

  pending_.Defer(std::make_unique<Follower>(kPendingBase + 768, kPendingBase));
  EXPECT_TRUE(pending_.IsKnown(kPendingBase + 768, 1));
  EXPECT_FALSE(IsOutstanding());
}

// Writes one byte.
class Writer : public Deferred {
 public:
  Writer(std::uint64_t target, char byte) : target_(target), byte_(byte) {}
  void Perform(Store& store) override { store.Write(target_, &byte_, 1); }
  bool MayChange(Store&, std::uint64_t address, std::size_t size) override {
    return target_ >= address && target_ < address + size;
  }

 private:
  const std::uint64_t target_;
  const char byte_;
};

// A byte is written behind a result that is outstanding, and read by a copy on a stream.
class ReadTest : public PendingTest {
 protected:
  static constexpr std::uint64_t kByte = kPendingBase + 512;
  static constexpr StreamName kStream{.device = 0, .id = 3};
  static constexpr StreamName kOther{.device = 0, .id = 4};

  ReadTest() { pending_.AwaitCollective(1, 0, kPendingBase, 4); }

  void ReadWritten(StreamName stream) {
    pending_.Defer(std::make_unique<Writer>(kByte, 'k'));
    pending_.Read(kByte, &host_, 1, 0, KeepUnknown, stream);
  }

  char host_ = '.';
};

TEST_F(ReadTest, AReadPassesWorkThatLeavesItsBytesAlone) {
  pending_.Write(kByte, "m", 1);
  pending_.Defer(std::make_unique<Writer>(kByte + 1, 'n'));

  pending_.Read(kByte, &host_, 1, 0, KeepUnknown, kStream);

  EXPECT_EQ(host_, 'm');
  EXPECT_EQ(last_unknown, 0u);
  EXPECT_FALSE(store_.IsKnown(kByte + 1, 1));
}

TEST_F(ReadTest, AReadDoesNotPassAKernelsPointerToItsBytes) {
  store_.Write(kByte - 4, "before", 6);
  pending_.Defer(std::make_unique<Writer>(kByte + 64, 'n'));
  pending_.NoteKernelPointer(kByte - 4);
  pending_.Read(kByte, &host_, 1, 0, KeepUnknown, kStream);
  EXPECT_EQ(host_, '.');

  pending_.Read(kByte + 2, &host_, 1, 'u', KeepUnknown, kStream);
  EXPECT_EQ(host_, 'u');
}

TEST_F(ReadTest, AReadDoesNotPassAPointerThatAGapIsFilledBehind) {
  store_.Write(kByte, "after", 5);
  pending_.Defer(std::make_unique<Writer>(kByte - 1, 'g'));
  pending_.NoteKernelPointer(kByte - 1);

  pending_.Read(kByte, &host_, 1, 0, KeepUnknown, kStream);

  EXPECT_EQ(host_, '.');
}

TEST_F(ReadTest, WhoeverWaitedForTheStreamFindsTheReadInPlace) {
  ReadWritten(kStream);
  pending_.Drain();
  pending_.Finish({.stream = kOther});
  EXPECT_EQ(host_, '.');

  pending_.Finish({.stream = kStream});

  EXPECT_EQ(host_, 'k');
  EXPECT_EQ(pending_.waiting(), 0u);
}

TEST_F(ReadTest, WhoeverWaitedForTheDeviceFindsTheReadInPlace) {
  ReadWritten(kStream);
  pending_.Finish({.stream = {.device = 1}, .whole_device = true});
  EXPECT_EQ(host_, '.');

  pending_.Finish({.stream = {.device = 0}, .whole_device = true});

  EXPECT_EQ(host_, 'k');
}

TEST_F(ReadTest, AnEventBeforeTheReadSaysNothingOfIt) {
  const std::uint64_t before = pending_.reads_so_far();
  ReadWritten(kStream);
  pending_.Finish({.stream = kStream, .first = before});
  EXPECT_EQ(host_, '.');

  pending_.Finish({.stream = kStream, .first = pending_.reads_so_far()});

  EXPECT_EQ(host_, 'k');
}

TEST_F(ReadTest, AStreamThatWaitsForTheReadBringsItAlong) {
  ReadWritten(kStream);
  pending_.Follow(kOther, {.stream = kStream, .first = pending_.reads_so_far()});

  pending_.Finish({.stream = kOther});

  EXPECT_EQ(host_, 'k');
}

TEST_F(ReadTest, OnlyResultsThatTheReadMayNeedAreWaitedFor) {
  ReadWritten(kStream);
  pending_.AwaitCollective(1, 1, kPendingBase + 1024, 4);

  pending_.Finish({.stream = kStream});

  EXPECT_EQ(host_, 'k');
  EXPECT_EQ(pending_.waiting(), 1u);
}

TEST_F(PendingTest, UnrelatedOperationsDoNotWait) {
  pending_.AwaitCollective(1, 0, kPendingBase, 4);
  pending_.Write(kPendingBase + 4096, "now", 3);

  EXPECT_TRUE(store_.IsKnown(kPendingBase + 4096, 3));
}

TEST_F(PendingTest, ALaterResultDoesNotWaitForAnEarlierOne) {
  pending_.AwaitCollective(1, 0, kPendingBase, 4);
  pending_.AwaitCollective(1, 1, kPendingBase + 512, 4);
  ready_.insert(1);
  pending_.Drain();

  EXPECT_TRUE(store_.IsKnown(kPendingBase + 512, 4));
  EXPECT_FALSE(store_.IsKnown(kPendingBase, 4));
}

TEST_F(PendingTest, AWriteBehindAResultWins) {
  pending_.AwaitCollective(1, 0, kPendingBase, 4);
  pending_.Write(kPendingBase, "mine", 4);
  ready_.insert(0);
  pending_.Drain();
  char host[5] = {};
  pending_.Read(kPendingBase, host, 4, 0, KeepUnknown);

  EXPECT_STREQ(host, "mine");
}

TEST_F(PendingTest, AskingWhetherARangeIsKnownWaitsForExactlyWhatItNeeds) {
  pending_.AwaitCollective(1, 0, kPendingBase, 4);
  pending_.AwaitCollective(1, 1, kPendingBase + 512, 4);
  pending_.Copy(kPendingBase + 1024, kPendingBase + 512, 4);

  EXPECT_TRUE(pending_.IsKnown(kPendingBase + 1024, 4));
  EXPECT_EQ(pending_.waiting(), 1u);
}

// The result comes once another thread has gone on, which uses the queue meanwhile.
TEST(PendingThreadsTest, OtherThreadsGoOnWhileAResultIsAwaited) {
  Store store;
  std::promise<void> awaited;
  std::promise<void> went_on;
  std::future<void> gone_on = went_on.get_future();
  bool in_time = false;
  Pending pending(
      store, [&](std::uint64_t, std::uint64_t, bool wait, std::vector<std::byte>* bytes) {
        if (!wait) return Fetch::kNotYet;
        awaited.set_value();
        in_time = gone_on.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
        std::memset(bytes->data(), 'A', bytes->size());
        return Fetch::kReady;
      });
  pending.AwaitCollective(1, 0, kPendingBase, 4);
  std::thread other([&] {
    awaited.get_future().wait();
    pending.AwaitCollective(1, 1, kPendingBase, 4);  // Later than the question.
    pending.Write(kPendingBase + 512, "other", 5);
    went_on.set_value();
  });

  EXPECT_TRUE(pending.IsKnown(kPendingBase, 4));

  other.join();
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(store.IsKnown(kPendingBase + 512, 5));
  EXPECT_EQ(pending.waiting(), 1u);
}

TEST_F(PendingTest, ALostResultLeavesItsRangeUnknown) {
  store_.Write(kPendingBase, "old!", 4);
  pending_.AwaitCollective(1, kLostSequence, kPendingBase, 4);

  EXPECT_FALSE(pending_.IsKnown(kPendingBase, 4));
}

}  // namespace
}  // namespace eidolon::shim::value
