// Tests which callers are served, by the token that a call carries.
#include "services/network/serving/network_service_fixture_test.h"

namespace eidolon::network::serving {
namespace {

// The service of a cluster that several users' jobs share.
class NetworkServiceTokenTest : public NetworkServiceTest {
 protected:
  NetworkServiceTokenTest() : NetworkServiceTokenTest(runtime::TokenIssuer::Generate()) {}
  explicit NetworkServiceTokenTest(runtime::TokenIssuer issuer)
      : NetworkServiceTest(*runtime::TokenGate::Make(issuer.public_key(), kClock)),
        controller_(issuer.Issue({.is_controller = true, .job = {}}, kLater)),
        agent_(issuer.Issue({.is_controller = false, .job = "job"}, kLater)),
        other_(issuer.Issue({.is_controller = false, .job = "other"}, kLater)),
        forged_(
            runtime::TokenIssuer::Generate().Issue({.is_controller = true, .job = {}}, kLater)) {}

  grpc::Status Estimate(const std::string& token, std::uint64_t communicator) {
    grpc::ClientContext context;
    runtime::AttachToken(token, &context);
    v1::EstimateCollectiveRequest request;
    request.set_job("job");
    request.set_communicator(communicator);
    request.mutable_operation()->set_kind(v1::COLLECTIVE_KIND_ALL_GATHER);
    request.mutable_operation()->set_data_type(7);
    request.mutable_operation()->set_size_bytes(1 << 30);
    v1::EstimateCollectiveResponse response;
    return stub_->EstimateCollective(&context, request, &response);
  }

  static constexpr std::int64_t kLater = 4'000'000'000;
  static inline const base::SystemClock kClock;
  const std::string controller_, agent_, other_, forged_;
};

TEST_F(NetworkServiceTokenTest, NobodyWithoutATokenOfTheControllerIsAnswered) {
  ASSERT_TRUE(Register(JobRequest(), controller_).ok());

  for (const std::string& token : {std::string(), forged_, std::string("nonsense")}) {
    EXPECT_EQ(Register(JobRequest(), token).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(Remove("job", token).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(Estimate(token, 1).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(FakeAgent(*stub_, "job", 0, token).Status().error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(NetworkServiceTokenTest, AJobsTokenOpensNoOtherJob) {
  ASSERT_TRUE(Register(JobRequest(), controller_).ok());
  for (std::uint32_t server : {0u, 1u}) {
    agents_.push_back(std::make_unique<FakeAgent>(*stub_, "job", server, agent_));
    agents_.back()->Join(2);
  }
  for (auto& agent : agents_) agent->AwaitJoined();
  const std::uint64_t communicator = agents_[0]->communicator();

  for (const char* job : {"job", "never-registered"}) {
    const grpc::Status refused = FakeAgent(*stub_, job, 1, other_).Status();
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(refused.error_message(), "the token is another job's");
  }
  EXPECT_EQ(Estimate(other_, communicator).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(Estimate(agent_, communicator).ok());
  // Only the controller makes and removes jobs.
  EXPECT_EQ(Register(JobRequest(), agent_).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Remove("job", agent_).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  // Nobody was disturbed.
  for (std::uint32_t at : {0u, 1u}) {
    agents_[at]->Issue(0, 1 << 20);
    agents_[at]->Post(0, 1'000'000 + at);
    agents_[at]->Promise(kNever);
  }
  for (auto& agent : agents_) EXPECT_TRUE(agent->Read().has_committed());
  EXPECT_TRUE(Remove("job", controller_).ok());
}

}  // namespace
}  // namespace eidolon::network::serving
