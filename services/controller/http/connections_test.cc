#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "services/base/text.h"
#include "services/controller/http/listener.h"
#include "services/controller/http/server.h"
#include "services/testing/raw_client.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::http {
namespace {

using base::StrCat;
using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;

// More than the kernel keeps for a reader that does not read.
constexpr std::size_t kLargeBytes = 20u << 20;

std::string Get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n";
}

Descriptor ListenUnix(const std::string& path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  if (listen(socket.get(), 16) != 0) return {};
  return socket;
}

class ConnectionsTest : public ::testing::Test {
 protected:
  ~ConnectionsTest() override { Release(); }

  void Serve(const ServerOptions& options,
             std::function<std::optional<uid_t>(int)> find_user = nullptr) {
    server_.emplace();
    AddRoutes();
    auto tcp = ListenTcp("127.0.0.1", 0);
    ASSERT_TRUE(tcp) << tcp.error().message;
    address_ = StrCat("127.0.0.1:", tcp->port);
    std::vector<Descriptor> listeners;
    listeners.push_back(std::move(tcp->descriptor));
    listeners.push_back(ListenUnix(unix_path()));
    const auto served =
        server_->Serve(std::move(listeners), options,
                       {.to_answer =
                            [](const Refusal& refusal) {
                              return StrCat("HTTP/1.1 ", refusal.status,
                                            " No\r\nContent-Length: ", refusal.detail.size(),
                                            "\r\n\r\n", refusal.detail);
                            },
                        .find_user = std::move(find_user),
                        .on_refusal =
                            [this](const Refusal& refusal) {
                              const std::lock_guard lock(mutex_);
                              ++refusals_[refusal.reason];
                            },
                        .on_count = [this](std::size_t count) { count_ = count; }},
                       clock_);
    ASSERT_TRUE(served) << served.error().message;
  }

  void AddRoutes() {
    server_->Get("/hello", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content("hello " + request.remote_addr + " " + request.get_header_value("X"),
                           "text/plain");
    });
    server_->Get("/livez", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok", "text/plain");
    });
    server_->Post("/echo", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.body, "text/plain");
    });
    server_->Get("/large", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(std::string(kLargeBytes, 'a'), "image/png");
    });
    server_->Get("/wait", [this](const httplib::Request&, httplib::Response& response) {
      ++waiting_;
      released_.wait();
      response.set_content("waited", "text/plain");
    });
    server_->Get("/stream", [this](const httplib::Request&, httplib::Response& response) {
      ++streams_;
      response.set_chunked_content_provider(
          "image/png",
          [](std::size_t, httplib::DataSink& sink) {
            const std::string part(50'000, 'a');
            return sink.write(part.data(), part.size());
          },
          [this](bool) { --streams_; });
    });
  }

  RawClient Connect(const std::string& from = "") const { return RawClient::Tcp(address_, from); }
  std::string Ask(const std::string& request, const std::string& from = "") const {
    const RawClient client = Connect(from);
    client.Send(request);
    client.EndSending();
    return client.ReadAll();
  }
  std::string unix_path() const { return directory_.path() + "/socket"; }
  int Refusals(Reason reason) {
    const std::lock_guard lock(mutex_);
    return refusals_[reason];
  }
  void Release() {
    if (!std::exchange(is_released_, true)) release_.set_value();
  }
  template <typename Condition>
  static void Await(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(milliseconds(5));
  }

  const base::SystemClock clock_;
  const testing::TemporaryDirectory directory_;
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
  bool is_released_ = false;
  std::atomic<int> waiting_ = 0;
  std::atomic<int> streams_ = 0;
  std::atomic<std::size_t> count_ = 0;
  std::mutex mutex_;
  std::map<Reason, int> refusals_;  // Guarded by mutex_.
  std::string address_;
  std::optional<Server> server_;  // Last: it uses the others.
};

TEST_F(ConnectionsTest, AConnectionTakesSeveralRequestsAlsoBeforeTheFirstAnswer) {
  Serve({});
  const RawClient client = Connect();

  client.Send(Get("/hello", "X: 1\r\n"));
  EXPECT_THAT(client.ReadUntil(" 1"), EndsWith("hello 127.0.0.1 1"));
  client.Send(Get("/hello", "X: 2\r\n") + Get("/hello", "X: 3\r\n"));
  const std::string two = client.ReadUntil(" 3");
  EXPECT_THAT(two, HasSubstr("hello 127.0.0.1 2"));
  EXPECT_THAT(two, EndsWith("hello 127.0.0.1 3"));
  client.Send(Get("/hello", "Connection: close\r\nX: 4\r\n"));
  EXPECT_THAT(client.ReadAll(), EndsWith("hello 127.0.0.1 4"));
}

TEST_F(ConnectionsTest, AnswersOldClientsHeadRequestsAndWhoHasEndedItsSide) {
  Serve({});

  EXPECT_THAT(Ask("GET /hello HTTP/1.0\r\n\r\n"), EndsWith("hello 127.0.0.1 "));
  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
  const std::string head = Ask("HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 16\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST_F(ConnectionsTest, ReadsBodiesWholeInChunksAndAfterContinue) {
  Serve({});
  const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
  const std::string large(1 << 20, 'b');

  EXPECT_THAT(Ask(post + "Content-Length: 1048576\r\n\r\n" + large), EndsWith("\r\n\r\n" + large));
  EXPECT_THAT(Ask(post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
              EndsWith("\r\n\r\nabc"));
  const RawClient client = Connect();
  client.Send(post + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("abc");
  EXPECT_THAT(client.ReadAll(), EndsWith("\r\n\r\nabc"));
}

TEST_F(ConnectionsTest, TellsHandlersWhoAsksAndNoHeaderChangesIt) {
  Serve({});
  const RawClient client = RawClient::Unix(unix_path());

  client.Send(Get("/hello", "REMOTE_ADDR: unix:0\r\nRemote_Addr: 1.2.3.4\r\nX: 5%41\r\n"));

  EXPECT_THAT(client.ReadUntil("5%41"), EndsWith(StrCat("hello unix:", getuid(), " 5%41")));
}

TEST_F(ConnectionsTest, RefusesWithAnAnswerAndCloses) {
  Serve({.limits = {.read = {.body_bytes_max = 1000}}});

  EXPECT_THAT(Ask("GET / HTTP/1.1\n\n"), StartsWith("HTTP/1.1 400 No"));
  EXPECT_EQ(Refusals(Reason::kMalformed), 1);
  // The answer arrives though the body is still being sent.
  const RawClient client = Connect();
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  client.Send(std::string(100'000, 'a'));
  EXPECT_THAT(client.ReadAll(), StartsWith("HTTP/1.1 413 No"));
  EXPECT_EQ(Refusals(Reason::kTooLarge), 1);
}

TEST_F(ConnectionsTest, EndsHeadsAndBodiesThatDoNotArrive) {
  Serve({.limits = {.head_deadline = milliseconds(300),
                    .idle_deadline = milliseconds(300),
                    .transfer_grace = milliseconds(300),
                    .transfer_bytes_per_second = 1u << 20}});
  const RawClient silent = Connect();
  const RawClient head = Connect();
  head.Send("GET / HT");
  const RawClient body = Connect();
  body.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  const RawClient idle = Connect();
  idle.Send(Get("/livez"));
  idle.ReadUntil("ok");

  EXPECT_THAT(silent.ReadAll(), StartsWith("HTTP/1.1 408"));
  EXPECT_THAT(head.ReadAll(), EndsWith("the header lines did not arrive in time; send them again"));
  EXPECT_THAT(body.ReadAll(), EndsWith("the body did not arrive in time; send it again"));
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_EQ(Refusals(Reason::kHeadDeadline), 2);
  EXPECT_EQ(Refusals(Reason::kBodyDeadline), 1);
  Await([this] { return count_ == 0; });
}

// A drip does not count as progress: the deadline is of the whole, not of the next byte.
TEST_F(ConnectionsTest, EndsAHeadThatDrips) {
  Serve({.limits = {.head_deadline = milliseconds(300)}});
  const RawClient client = Connect();
  client.Send("GET / HTTP/1.1\r\nX: ");

  while (client.Send("a")) std::this_thread::sleep_for(milliseconds(20));

  EXPECT_EQ(Refusals(Reason::kHeadDeadline), 1);
}

TEST_F(ConnectionsTest, ACrowdThatSaysNothingKeepsNobodyOut) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  Serve({.workers = 4});
  const RawClient other = Connect("127.0.0.2");
  std::vector<RawClient> crowd;
  for (int i = 0; i < 500; ++i) {
    crowd.push_back(Connect());
    if (i % 2 == 0) crowd.back().Send("GET /hello HTTP/1.1\r\nX: ");
    // They go on dripping.
    for (std::size_t at = 0; i % 50 == 0 && at < crowd.size(); at += 2) crowd[at].Send("a");
  }

  EXPECT_THAT(Ask(Get("/livez")), EndsWith("ok"));
  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
  other.Send(Get("/hello", "X: 1\r\n"));
  EXPECT_THAT(other.ReadUntil(" 1"), EndsWith("hello 127.0.0.2 1"));
  EXPECT_GE(Refusals(Reason::kClientConnections), 500 - 128);
  EXPECT_LE(count_, 128u + 1);
}

TEST_F(ConnectionsTest, RefusesAClientWhoseConnectionsAreAllBusyAndServesOthers) {
  Serve({.limits = {.connections_max = 3, .client_connections_max = 2}, .workers = 2});
  const RawClient one = Connect();
  const RawClient two = Connect();
  one.Send(Get("/wait"));
  two.Send(Get("/wait"));
  Await([this] { return waiting_ == 2; });

  EXPECT_THAT(Ask(Get("/hello")), StartsWith("HTTP/1.1 429"));
  // The workers are busy too.
  EXPECT_THAT(Ask(Get("/livez"), "127.0.0.2"), EndsWith("ok"));
  const RawClient third = Connect("127.0.0.2");
  third.Send(Get("/hello"));
  Await([this] { return count_ == 3; });
  EXPECT_THAT(Ask(Get("/hello"), "127.0.0.3"), StartsWith("HTTP/1.1 503"));

  Release();
  EXPECT_THAT(one.ReadUntil("waited"), EndsWith("waited"));
  EXPECT_THAT(third.ReadUntil("2 "), EndsWith("hello 127.0.0.2 "));
}

TEST_F(ConnectionsTest, AnswersLivezOverEveryLimit) {
  Serve({.limits = {.connections_max = 3, .client_connections_max = 2}, .workers = 3});
  std::vector<RawClient> busy;
  for (const char* from : {"", "", "127.0.0.2"}) {
    busy.push_back(Connect(from));
    busy.back().Send(Get("/wait"));
  }
  Await([this] { return waiting_ == 3; });

  // One is of the client that has too many, and one of a client that finds no room.
  for (const char* from : {"", "127.0.0.3"}) {
    EXPECT_THAT(Ask(Get("/livez"), from), EndsWith("ok")) << from;
    EXPECT_THAT(Ask(Get("/livez?a=b"), from), EndsWith("ok")) << from;
    EXPECT_THAT(Ask(Get("/livez/"), from),
                StartsWith(*from == '\0' ? "HTTP/1.1 429" : "HTTP/1.1 503"));
  }
  const RawClient again = Connect();
  again.Send(Get("/livez"));
  EXPECT_THAT(again.ReadUntil("ok"), EndsWith("ok"));
  again.Send(Get("/hello"));
  EXPECT_THAT(again.ReadAll(), StartsWith("HTTP/1.1 429"));
}

TEST_F(ConnectionsTest, SilentConnectionsInExcessMakeRoomForLivez) {
  Serve({.limits = {.connections_max = 8,
                    .client_connections_max = 1,
                    .excess_max = 4,
                    .client_excess_max = 2,
                    .excess_deadline = milliseconds(60'000)},
         .workers = 1});
  const RawClient busy = Connect();
  busy.Send(Get("/wait"));
  Await([this] { return waiting_ == 1; });
  std::vector<RawClient> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Connect());

  EXPECT_THAT(Ask(Get("/livez")), EndsWith("ok"));
  EXPECT_THAT(silent.front().ReadAll(), StartsWith("HTTP/1.1 429"));
}

TEST_F(ConnectionsTest, ASilentConnectionInExcessIsRefusedSoon) {
  Serve({.limits = {.client_connections_max = 1, .excess_deadline = milliseconds(100)},
         .workers = 1});
  const RawClient busy = Connect();
  busy.Send(Get("/wait"));
  Await([this] { return waiting_ == 1; });

  EXPECT_THAT(Connect().ReadAll(), StartsWith("HTTP/1.1 429"));
}

// All users of a machine come from 127.0.0.1.
TEST_F(ConnectionsTest, LimitsGoByUserWhereTheKernelNamesOne) {
  uid_t user = 1001;
  Serve({.limits = {.client_connections_max = 2}, .workers = 8},
        [&user](int) { return std::optional(user); });
  std::vector<RawClient> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(Connect());
    busy.back().Send(Get("/wait"));
  }
  Await([this] { return waiting_ == 2; });
  EXPECT_THAT(Ask(Get("/hello"), "127.0.0.2"), StartsWith("HTTP/1.1 429")) << "from elsewhere too";

  user = 1002;
  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
}

TEST_F(ConnectionsTest, TheClientThatHoldsMostGivesItBackFirst) {
  Serve({.limits = {.request_bytes_max = 2u << 20}});
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
  const RawClient small = Connect("127.0.0.2");  // The oldest of all.
  small.Send(head + "Content-Length: 20\r\n\r\n" + std::string(10, 'b'));
  std::vector<RawClient> large;
  for (int i = 0; i < 4; ++i) {
    large.push_back(Connect());
    large.back().Send(head + "Content-Length: 1000000\r\n\r\n" + std::string(900'000, 'a'));
  }
  EXPECT_THAT(large.front().ReadAll(), StartsWith("HTTP/1.1 503"));

  small.Send(std::string(10, 'b'));
  EXPECT_THAT(small.ReadAll(), EndsWith("\r\n\r\n" + std::string(20, 'b')));
}

TEST_F(ConnectionsTest, SlowReadersHoldNoWorker) {
  Serve({.workers = 1});
  std::vector<RawClient> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(Connect());
    readers.back().Send(Get("/large", "Connection: close\r\n"));
  }

  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
  for (const RawClient& reader : readers) EXPECT_GT(reader.ReadAll().size(), kLargeBytes);
}

TEST_F(ConnectionsTest, DropsReadersThatDoNotKeepUpAndEndsWhatTheyFollow) {
  Serve({.limits = {.transfer_grace = milliseconds(300), .transfer_bytes_per_second = 100u << 20},
         .workers = 2});
  const RawClient whole = Connect();
  const RawClient stream = Connect();
  whole.Send(Get("/large"));
  stream.Send(Get("/stream"));
  Await([this] { return Refusals(Reason::kSlowReader) == 2; });

  Await([this] { return streams_ == 0; });
  EXPECT_LT(whole.ReadAll().size(), kLargeBytes);
  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
}

TEST_F(ConnectionsTest, BoundsWhatUnreadAnswersHold) {
  Serve({.limits = {.answer_bytes_max = 2 * kLargeBytes}, .workers = 1});
  std::vector<RawClient> readers;
  for (int i = 0; i < 6; ++i) {
    readers.push_back(Connect());
    readers.back().Send(Get("/large", "Connection: close\r\n"));
  }

  Await([this] { return Refusals(Reason::kMemory) >= 3; });

  // The newest has what it asked for.
  EXPECT_GT(readers.back().ReadAll().size(), kLargeBytes);
  EXPECT_LT(readers.front().ReadAll().size(), kLargeBytes);
}

TEST_F(ConnectionsTest, BoundsWhatUnfinishedRequestsHold) {
  Serve({.limits = {.request_bytes_max = 2u << 20}});
  const std::string part = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" +
                           std::string(900'000, 'a');
  std::vector<RawClient> writers;
  for (int i = 0; i < 6; ++i) {
    writers.push_back(Connect());
    writers.back().Send(part);
  }

  EXPECT_THAT(writers.front().ReadAll(), StartsWith("HTTP/1.1 503"));
  Await([this] { return Refusals(Reason::kMemory) >= 3; });
  EXPECT_THAT(Ask(Get("/hello")), EndsWith("hello 127.0.0.1 "));
}

TEST_F(ConnectionsTest, StoppingWaitsForAnswersAndNotForClients) {
  Serve({});
  const RawClient half = Connect();
  half.Send("GET /");
  const RawClient slow = Connect();
  slow.Send(Get("/stream"));
  const RawClient asked = Connect();
  asked.Send(Get("/wait"));
  Await([this] { return waiting_ == 1 && streams_ == 1; });

  std::thread stopping([this] { server_->Shutdown(); });
  EXPECT_EQ(half.ReadAll(), "");
  Release();

  EXPECT_THAT(asked.ReadAll(), EndsWith("waited"));
  stopping.join();
  EXPECT_FALSE(Connect().connected());
}

}  // namespace
}  // namespace eidolon::controller::http
