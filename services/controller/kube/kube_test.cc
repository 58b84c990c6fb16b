// The client and what stands on it, against an API server that misbehaves on purpose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <fstream>
#include <thread>

#include "services/controller/kube/client.h"
#include "services/controller/kube/fake_server_test.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube/lease.h"
#include "services/controller/kube/reviews.h"
#include "services/controller/kube/work_queue.h"
#include "services/testing/fake_clock.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::kube {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;

json Object(const std::string& name, const std::string& version) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", name}, {"namespace", "n"}, {"resourceVersion", version}}}};
}

json List(std::vector<json> items, const std::string& version, const std::string& next = "") {
  return {{"items", std::move(items)},
          {"metadata", {{"resourceVersion", version}, {"continue", next}}}};
}

class ClientTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
};

TEST_F(ClientTest, WritesInTheNameOfAUser) {
  FakeServer server([](const Call& call) {
    return Json(call.method == "DELETE" ? json::object() : Object("a", "1"));
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);
  const Impersonation ann{.user = "ann", .groups = {"dev", "ops"}};

  ASSERT_TRUE(client.CreateAs(ann, kJobs, Object("a", "")));
  ASSERT_TRUE(client.MergePatchAs(ann, kJobs, {"n", "a"}, json::object()));
  ASSERT_TRUE(client.DeleteAs(ann, kJobs, {"n", "a"}, Propagation::kBackground, "uid"));
  ASSERT_TRUE(client.Create(kJobs, Object("a", "")));

  const auto calls = server.calls();
  ASSERT_EQ(calls.size(), 4u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(calls[i].as_user, "ann");
    EXPECT_THAT(calls[i].as_groups, ::testing::UnorderedElementsAre("dev", "ops"));
    EXPECT_EQ(calls[i].user_agent, "eidolon-controller");
  }
  EXPECT_EQ(calls[3].as_user, "");
}

TEST_F(ClientTest, AUserWhomNoHeaderCanNameWritesNothing) {
  FakeServer server([](const Call&) { return Json(Object("a", "1")); });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  for (const char* name : {"", "ann\r\nImpersonate-Group: system:masters", "\xC3\xA4nn", "ann "}) {
    const auto refused = client.CreateAs({.user = name, .groups = {}}, kJobs, Object("a", ""));
    ASSERT_FALSE(refused) << name;
    EXPECT_TRUE(refused.error().IsForbidden()) << name;
  }
  EXPECT_FALSE(client.CreateAs({.user = "ann", .groups = {"a\nb"}}, kJobs, Object("a", "")));
  EXPECT_TRUE(server.calls().empty());
}

TEST(ImpersonationTest, LeavesOutTheGroupsThatTheApiServerAddsItself) {
  Identity account;
  account.user = "system:serviceaccount:team:ci";
  account.groups = {"system:serviceaccounts", "system:serviceaccounts:team",
                    "system:authenticated"};
  Identity ann;
  ann.user = "ann";
  ann.groups = {"dev", "system:authenticated"};

  EXPECT_TRUE(ToImpersonation(account).groups.empty());
  EXPECT_EQ(ToImpersonation(account).user, account.user);
  EXPECT_THAT(ToImpersonation(ann).groups, ::testing::ElementsAre("dev"));
}

// It is as large the next time.
TEST_F(ClientTest, WhatIsTooLargeIsNotSentAgain) {
  FakeServer server([](const Call& call) {
    return call.method == "PUT" ? Json({{"kind", "Status"},
                                        {"code", 500},
                                        {"message", "etcdserver: request is too large"}},
                                       500)
                                : Status(413, "RequestEntityTooLarge");
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  const auto by_etcd = client.Replace(kJobs, Object("a", "1"));
  const auto by_server = client.Create(kJobs, Object("a", "1"));

  ASSERT_FALSE(by_etcd);
  EXPECT_TRUE(by_etcd.error().IsTooLarge());
  ASSERT_FALSE(by_server);
  EXPECT_TRUE(by_server.error().IsTooLarge());
  EXPECT_EQ(server.calls().size(), 2u);
}

TEST_F(ClientTest, ReadsAllPagesOfAList) {
  FakeServer server([](const Call& call) {
    const bool second = call.path.find("continue=more") != std::string::npos;
    return Json(second ? List({Object("b", "2")}, "7") : List({Object("a", "1")}, "7", "more"));
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  const auto list = client.List(kJobs, "n", "a=b");

  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_THAT(server.calls()[0].path, HasSubstr("labelSelector=a%3Db"));
}

TEST_F(ClientTest, AnswersAlthoughAllKeptConnectionsWereClosed) {
  auto server = std::make_unique<FakeServer>([](const Call&) { return Json(json::object()); });
  Client client({.url = server->url(), .ca_file = {}, .token_file = {}}, clock_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { EXPECT_TRUE(client.Get(kJobs, {"n", "a"})); });
  }
  for (std::thread& thread : threads) thread.join();
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // The server keeps them for 1 s.

  for (int i = 0; i < 8; ++i) {
    const auto answer = client.Create(kJobs, Object("b", ""));
    EXPECT_TRUE(answer) << answer.error().message;
  }
}

TEST_F(ClientTest, ReadsATokenAgainThatWasExchanged) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/token";
  std::ofstream(path) << "first\n";
  FakeServer server([](const Call&) { return Json(json::object()); });
  Client client({.url = server.url(), .ca_file = {}, .token_file = path}, clock_);

  ASSERT_TRUE(client.Get(kJobs, {"n", "a"}));
  std::ofstream(path) << "second\n";
  ASSERT_TRUE(client.Get(kJobs, {"n", "a"}));
  clock_.AdvanceNs(31 * kSecondNs);
  ASSERT_TRUE(client.Get(kJobs, {"n", "a"}));

  EXPECT_EQ(server.calls()[0].token, "first");
  EXPECT_EQ(server.calls()[2].token, "second");
}

TEST_F(ClientTest, TriesAgainWhenTheServerIsBusy) {
  int calls = 0;
  FakeServer server([&](const Call&) {
    Reply busy = Status(429, "TooManyRequests");
    busy.retry_after = "0";
    return ++calls < 3 ? busy : Json(Object("a", "1"));
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  EXPECT_TRUE(client.Get(kJobs, {"n", "a"}));
  EXPECT_EQ(calls, 3);
}

TEST_F(ClientTest, WaitsForAServerThatIsBusyNoLongerThanACallMayTake) {
  FakeServer server([](const Call&) {
    Reply busy = Status(429, "TooManyRequests");
    busy.retry_after = "3600";
    return busy;
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  const auto refused = client.Get(kJobs, {"n", "a"});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, 429);
  EXPECT_EQ(server.calls().size(), 1u);
}

TEST_F(ClientTest, AllTriesOfARequestShareItsTime) {
  FakeServer server([&](const Call&) {
    clock_.AdvanceSeconds(11);
    Reply busy = Status(503, "ServiceUnavailable");
    busy.retry_after = "0";
    return busy;
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  EXPECT_EQ(client.Get(kJobs, {"n", "a"}).error().status, 503);
  EXPECT_EQ(server.calls().size(), 2u);
}

TEST_F(ClientTest, AppliesAsItsOwnFieldManager) {
  FakeServer server([](const Call&) { return Json(Object("a", "1")); });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  ASSERT_TRUE(client.ApplyStatus(Object("a", "1")));

  const Call call = server.calls()[0];
  EXPECT_EQ(call.method, "PATCH");
  EXPECT_EQ(call.content_type, "application/apply-patch+yaml");
  EXPECT_EQ(call.path,
            "/apis/batch/v1/namespaces/n/jobs/a/status?fieldManager=eidolon-controller&force=true");
}

TEST_F(ClientTest, TellsConflictsFromAbsence) {
  FakeServer server([](const Call& call) {
    return call.method == "PUT" ? Status(409, "Conflict") : Status(404, "NotFound");
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);

  EXPECT_TRUE(client.Replace(kJobs, Object("a", "1")).error().IsConflict());
  EXPECT_TRUE(client.Get(kJobs, {"n", "a"}).error().IsNotFound());
  EXPECT_TRUE(client.Delete(kJobs, {"n", "a"}, Propagation::kForeground));
}

TEST_F(ClientTest, ANobodyAtTheAddressIsAnError) {
  Client client({.url = "http://127.0.0.1:1", .ca_file = {}, .token_file = {}}, clock_);

  const auto answer = client.Get(kJobs, {"n", "a"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().status, 0);
}

// Collects what an informer tells.
class Told {
 public:
  void Add(const json& object) {
    const std::lock_guard lock(mutex_);
    names_.push_back(object["metadata"]["name"]);
    more_.notify_all();
  }
  bool Wait(std::size_t count) {
    std::unique_lock lock(mutex_);
    return more_.wait_for(lock, std::chrono::seconds(20), [&] { return names_.size() >= count; });
  }
  std::vector<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::vector<std::string> names_;
};

bool IsWatch(const Call& call) { return call.path.find("watch=1") != std::string::npos; }

TEST_F(ClientTest, AnInformerFollowsChangesFromWhereItListed) {
  int watches = 0;
  FakeServer server([&](const Call& call) {
    if (!IsWatch(call)) return Json(List({Object("a", "1")}, "5"));
    if (++watches > 1) return Events({});
    return Events({{{"type", "ADDED"}, {"object", Object("b", "6")}},
                   {{"type", "DELETED"}, {"object", Object("a", "8")}},
                   {{"type", "BOOKMARK"}, {"object", Object("", "9")}}});
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);
  Told told;
  Informer informer({kJobs, "n", ""}, &client, [&](const json& object) { told.Add(object); });

  informer.Start();
  ASSERT_TRUE(told.Wait(3));
  while (server.calls().size() < 3) std::this_thread::yield();
  informer.Stop();

  EXPECT_THAT(told.names(), ::testing::ElementsAre("a", "b", "a"));
  EXPECT_EQ(informer.Find({"n", "a"}), nullptr);
  EXPECT_NE(informer.Find({"n", "b"}), nullptr);
  EXPECT_THAT(server.calls()[1].path, HasSubstr("resourceVersion=5"));
  EXPECT_THAT(server.calls()[2].path, HasSubstr("resourceVersion=9"));
}

TEST_F(ClientTest, AnInformerListsAgainWhenItsPlaceIsForgotten) {
  int lists = 0, watches = 0;
  FakeServer server([&](const Call& call) {
    if (!IsWatch(call)) {
      return ++lists == 1 ? Json(List({Object("a", "1"), Object("b", "1")}, "5"))
                          : Json(List({Object("b", "1"), Object("c", "70")}, "80"));
    }
    if (++watches > 1) return Events({});
    return Events({{{"type", "ERROR"}, {"object", {{"code", 410}, {"reason", "Expired"}}}}});
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);
  Told told;
  Informer informer({kJobs, "n", ""}, &client, [&](const json& object) { told.Add(object); });

  informer.Start();
  ASSERT_TRUE(told.Wait(4));
  informer.Stop();

  // What vanished meanwhile is told too; what did not change is not.
  EXPECT_THAT(told.names(), ::testing::ElementsAre("a", "b", "a", "c"));
  EXPECT_EQ(informer.lists(), 2);
  EXPECT_EQ(informer.List().size(), 2u);
}

// A lease that lives in the fake server, with optimistic concurrency.
class LeaseTest : public ClientTest {
 protected:
  LeaseTest() : server_([this](const Call& call) { return Answer(call); }) {}

  Reply Answer(const Call& call) {
    if (call.method == "GET") return lease_.is_null() ? Status(404, "NotFound") : Json(lease_);
    json wanted = json::parse(call.body);
    const std::string version = wanted["metadata"].value("resourceVersion", "");
    if (!lease_.is_null() && version != std::to_string(version_)) return Status(409, "Conflict");
    wanted["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = wanted;
    return Json(lease_);
  }
  std::unique_ptr<Lease> Contender(const std::string& name) {
    return std::make_unique<Lease>(
        LeaseOptions{.key = {"n", "leader"}, .identity = name}, &client_, clock_, [] {}, [] {});
  }

  json lease_;
  int version_ = 0;
  FakeServer server_;
  Client client_{{.url = server_.url(), .ca_file = {}, .token_file = {}}, clock_};
};

TEST_F(LeaseTest, TheFirstHoldsItAndTheSecondWaitsForItsEnd) {
  const auto first = Contender("first");
  const auto second = Contender("second");

  EXPECT_TRUE(first->TryOnce());
  EXPECT_FALSE(second->TryOnce());
  clock_.AdvanceNs(14 * kSecondNs);
  EXPECT_FALSE(second->TryOnce());
  clock_.AdvanceNs(2 * kSecondNs);
  EXPECT_TRUE(second->TryOnce());
  EXPECT_FALSE(first->TryOnce());
}

TEST_F(LeaseTest, ARenewedLeaseIsNotTaken) {
  const auto first = Contender("first");
  const auto second = Contender("second");

  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(first->TryOnce());
    EXPECT_FALSE(second->TryOnce());
    clock_.AdvanceNs(10 * kSecondNs);
  }
}

TEST_F(LeaseTest, GoesWithItsOwner) {
  const json owner = {{"kind", "Deployment"}, {"name", "d"}, {"uid", "u"}};
  Lease lease(
      {.key = {"n", "leader"}, .identity = "a", .owner = owner}, &client_, clock_, [] {}, [] {});

  EXPECT_TRUE(lease.TryOnce());

  EXPECT_EQ(lease_["metadata"]["ownerReferences"], json::array({owner}));
}

TEST(MicroTimeTest, HasSixDecimals) {
  EXPECT_EQ(FormatMicroTime(1'000'000'123'456'789), "1970-01-12T13:46:40.123456Z");
}

TEST_F(ClientTest, ATokenForAnotherAudienceIsNoGood) {
  FakeServer server([](const Call&) {
    return Json(
        {{"status",
          {{"authenticated", true}, {"audiences", {"other"}}, {"user", {{"username", "u"}}}}}},
        201);
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);
  Reviews reviews(&client, clock_);

  EXPECT_FALSE(reviews.Authenticate("t", "ours"));
}

TEST_F(ClientTest, ATokenNamesItsPodAndIsRememberedForAWhile) {
  FakeServer server([](const Call&) {
    const json extra = {{"authentication.kubernetes.io/pod-name", {"p"}},
                        {"authentication.kubernetes.io/pod-uid", {"u-1"}}};
    return Json({{"status",
                  {{"authenticated", true},
                   {"audiences", {"ours"}},
                   {"user", {{"username", "system:serviceaccount:n:default"}, {"extra", extra}}}}}},
                201);
  });
  Client client({.url = server.url(), .ca_file = {}, .token_file = {}}, clock_);
  Reviews reviews(&client, clock_);

  const auto identity = reviews.Authenticate("t", "ours");
  ASSERT_TRUE(identity);
  ASSERT_TRUE(reviews.Authenticate("t", "ours"));

  EXPECT_EQ(identity->pod_name, "p");
  EXPECT_EQ(identity->pod_uid, "u-1");
  EXPECT_EQ(identity->name_space, "n");
  EXPECT_EQ(server.calls().size(), 1u);
}

class WorkQueueTest : public ::testing::Test {
 protected:
  testing::FakeClock clock_;
  WorkQueue queue_{clock_};
};

TEST_F(WorkQueueTest, AKeyWaitsOnceHoweverOftenItIsAdded) {
  queue_.Add("a");
  queue_.Add("a");

  EXPECT_EQ(queue_.TakeDue(), "a");
  EXPECT_EQ(queue_.TakeDue(), std::nullopt);
}

TEST_F(WorkQueueTest, AKeyIsNotGivenToTwoWorkers) {
  queue_.Add("a");
  ASSERT_EQ(queue_.TakeDue(), "a");
  queue_.Add("a");

  EXPECT_EQ(queue_.TakeDue(), std::nullopt);
  queue_.Done("a");
  EXPECT_EQ(queue_.TakeDue(), "a");
}

TEST_F(WorkQueueTest, TheEarlierOfTwoTimesCounts) {
  queue_.AddAfter("a", 10 * kSecondNs);
  queue_.AddAfter("a", 2 * kSecondNs);
  queue_.AddAfter("a", 60 * kSecondNs);

  clock_.AdvanceNs(kSecondNs);
  EXPECT_EQ(queue_.TakeDue(), std::nullopt);
  clock_.AdvanceNs(kSecondNs);
  EXPECT_EQ(queue_.TakeDue(), "a");
}

TEST_F(WorkQueueTest, FailuresWaitLongerAndLongerUntilOneGoesWell) {
  const auto wait_after_failure = [this] {
    queue_.Failed("a");
    for (std::int64_t waited_ns = 0;; waited_ns += kSecondNs / 1000) {
      if (queue_.TakeDue()) return waited_ns;
      clock_.AdvanceNs(kSecondNs / 1000);
    }
  };
  queue_.Add("a");
  ASSERT_EQ(queue_.TakeDue(), "a");

  const std::int64_t first_ns = wait_after_failure();
  for (int i = 0; i < 8; ++i) wait_after_failure();
  const std::int64_t tenth_ns = wait_after_failure();
  queue_.Done("a");
  queue_.Add("a");
  ASSERT_EQ(queue_.TakeDue(), "a");

  EXPECT_GE(first_ns, 5 * kSecondNs / 1000);
  EXPECT_GE(tenth_ns, 500 * first_ns / 2);
  EXPECT_LE(wait_after_failure(), 2 * first_ns);
}

}  // namespace
}  // namespace eidolon::controller::kube
