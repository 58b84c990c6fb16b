// Tests a subscriber's notifications beside calls: objects, waits and NVTX.
#include "shim/vendor/cupti/callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/capture.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/vendor/cupti/activity.h"
#include "shim/vendor/cupti/subscription.h"

namespace eidolon::shim::cupti {
namespace {

using ::testing::ElementsAre;

struct Told {
  CUpti_CallbackId id;
  const void* context = nullptr;
  const void* stream = nullptr;
  CUpti_ModuleResourceData module{};
  std::string cubin;
  CUpti_GraphData graph{};
};
std::vector<Told> told;

bool IsOfModules(CUpti_CallbackId id) {
  return id == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
         id == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING;
}

void Tell(void* /*user_data*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
          const void* given) {
  Told one{.id = id};
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto& data = *static_cast<const CUpti_ResourceData*>(given);
    one.context = data.context;
    one.stream = data.resourceHandle.stream;
    if (IsOfModules(id)) {
      one.module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
      one.cubin.assign(one.module.pCubin, one.module.cubinSize);
    } else if (id >= CUPTI_CBID_RESOURCE_GRAPH_CREATED) {
      one.graph = *static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
      std::uint32_t number = 0;  // Calls of CUPTI are allowed.
      EXPECT_EQ(activity::GetGraphId(one.graph.graph, &number), CUPTI_SUCCESS);
    }
  } else {
    const auto& data = *static_cast<const CUpti_SynchronizeData*>(given);
    one.context = data.context;
    one.stream = data.stream;
  }
  told.push_back(one);
}

class CallbacksTest : public ::testing::Test {
 protected:
  CallbacksTest() {
    core::FakeAgent::Start();
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    told.clear();
    EXPECT_EQ(subscription::Subscribe(&subscriber_, Tell, nullptr), CUPTI_SUCCESS);
  }
  ~CallbacksTest() override { subscription::Unsubscribe(subscriber_); }

  void Enable(CUpti_CallbackDomain domain) {
    ASSERT_EQ(subscription::EnableDomain(1, subscriber_, domain), CUPTI_SUCCESS);
  }
  static std::vector<CUpti_CallbackId> Ids() {
    std::vector<CUpti_CallbackId> ids;
    for (const Told& one : told) ids.push_back(one.id);
    return ids;
  }

  CUpti_SubscriberHandle subscriber_ = nullptr;
};

TEST_F(CallbacksTest, StreamsAreToldAsTheyComeAndGoWithTheirContext) {
  Enable(CUPTI_CB_DOMAIN_RESOURCE);
  gpu::StreamHandle stream = nullptr;

  ASSERT_EQ(gpu::CreateStream(0, 0, &stream), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::DestroyStream(stream), gpu::Status::kSuccess);

  EXPECT_THAT(Ids(), ElementsAre(CUPTI_CBID_RESOURCE_STREAM_CREATED,
                                 CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING));
  for (const Told& one : told) {
    EXPECT_EQ(one.stream, stream);
    EXPECT_EQ(one.context, gpu::CurrentContext());
  }
}

TEST_F(CallbacksTest, ContextsAreToldAsTheyComeAndGo) {
  Enable(CUPTI_CB_DOMAIN_RESOURCE);
  gpu::ContextHandle context = nullptr;

  ASSERT_EQ(gpu::CreateContext(0, 0, &context), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::DestroyContext(context), gpu::Status::kSuccess);

  EXPECT_THAT(Ids(), ElementsAre(CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
                                 CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
  EXPECT_EQ(told[0].context, context);
  EXPECT_EQ(told[1].context, context);
}

TEST_F(CallbacksTest, ModulesAreToldWithTheCubinThatTheDeviceRuns) {
  Enable(CUPTI_CB_DOMAIN_RESOURCE);
  gpu::Library* library = nullptr;

  ASSERT_EQ(gpu::LoadImage(gpu::SampleFatBinary().data(), &library), gpu::Status::kSuccess);
  library->UnloadForProgram();
  library->UnloadForProgram();

  EXPECT_THAT(Ids(), ElementsAre(CUPTI_CBID_RESOURCE_MODULE_LOADED,
                                 CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING));
  EXPECT_EQ(told[0].cubin.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_EQ(told[0].module.moduleId, told[1].module.moduleId);
  EXPECT_NE(told[0].module.moduleId, 0u);
}

TEST_F(CallbacksTest, WaitsAreToldOnceTheyAreOver) {
  Enable(CUPTI_CB_DOMAIN_SYNCHRONIZE);
  gpu::StreamHandle stream = nullptr;
  ASSERT_EQ(gpu::CreateStream(0, 0, &stream), gpu::Status::kSuccess);

  ASSERT_EQ(gpu::SynchronizeStream(stream), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::SynchronizeDevice(), gpu::Status::kSuccess);
  gpu::DestroyStream(stream);
  EXPECT_NE(gpu::SynchronizeStream(stream), gpu::Status::kSuccess);

  EXPECT_THAT(Ids(), ElementsAre(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED,
                                 CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED));
  EXPECT_EQ(told[0].stream, stream);
  EXPECT_EQ(told[1].stream, nullptr);
  EXPECT_EQ(told[1].context, gpu::CurrentContext());
}

TEST_F(CallbacksTest, GraphsAreToldWithTheirNodesAndTheCopiesOfTheirExecutable) {
  Enable(CUPTI_CB_DOMAIN_RESOURCE);
  gpu::StreamHandle stream = nullptr;
  ASSERT_EQ(gpu::CreateStream(0, 0, &stream), gpu::Status::kSuccess);
  told.clear();
  gpu::Graph* graph = nullptr;
  gpu::GraphExec* exec = nullptr;

  ASSERT_EQ(gpu::BeginCapture(stream, gpu::CaptureMode::kRelaxed), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::CaptureCallback(
                *gpu::Lookup(stream), [](void*) {}, nullptr),
            gpu::Status::kSuccess);
  ASSERT_EQ(gpu::EndCapture(stream, &graph), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::InstantiateGraph(*graph, 0, &exec), gpu::Status::kSuccess);
  const void* const instantiated = exec;
  std::uint64_t node = 0;
  EXPECT_EQ(activity::GetGraphNodeId(
                reinterpret_cast<CUgraphNode>(exec->graph->nodes.front().get()), &node),
            CUPTI_SUCCESS);
  EXPECT_EQ(gpu::OriginOf(exec->ring_graph, 0).node, node);
  EXPECT_EQ(gpu::OriginOf(exec->ring_graph, 0).exec, exec->number);
  EXPECT_EQ(gpu::OriginOf(exec->ring_graph, 1).node, 0u);
  EXPECT_EQ(gpu::DeviceOperationsOf(exec->ring_graph), 0u) << "a host function";
  ASSERT_EQ(gpu::DestroyExec(*exec), gpu::Status::kSuccess);
  ASSERT_EQ(gpu::DestroyGraph(*graph), gpu::Status::kSuccess);

  ASSERT_THAT(
      Ids(),
      ElementsAre(CUPTI_CBID_RESOURCE_GRAPH_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                  CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
                  CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                  CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
                  CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
                  CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING));
  EXPECT_EQ(told[1].graph.nodeType, CU_GRAPH_NODE_TYPE_HOST);
  EXPECT_EQ(told[4].graph.originalNode, told[1].graph.node);
  EXPECT_EQ(told[4].graph.originalGraph, told[0].graph.graph);
  EXPECT_EQ(told[4].graph.node, told[3].graph.node);
  EXPECT_EQ(told[5].graph.graph, told[4].graph.graph);
  EXPECT_EQ(told[5].graph.graphExec, instantiated);
}

TEST_F(CallbacksTest, WhatIsNeverToldCannotBeEnabled) {
  const auto enable = [this](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    return subscription::EnableCallback(1, subscriber_, domain, id);
  };
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED),
            CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxDomainSyncUserCreate),
            CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_SYNCHRONIZE, 0), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_SIZE, 1), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR), CUPTI_SUCCESS);
  EXPECT_EQ(enable(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxRangePushA), CUPTI_SUCCESS);
}

TEST_F(CallbacksTest, AllDomainsAreEnabledAtOnce) {
  ASSERT_EQ(subscription::EnableAllDomains(1, subscriber_), CUPTI_SUCCESS);

  for (const auto& [domain, id] :
       {std::pair{CUPTI_CB_DOMAIN_RESOURCE, int{CUPTI_CBID_RESOURCE_MODULE_LOADED}},
        {CUPTI_CB_DOMAIN_SYNCHRONIZE, int{CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED}},
        {CUPTI_CB_DOMAIN_NVTX, int{CUPTI_CBID_NVTX_nvtxMarkA}}}) {
    std::uint32_t enabled = 0;
    EXPECT_EQ(subscription::GetCallbackState(&enabled, subscriber_, domain,
                                             static_cast<CUpti_CallbackId>(id)),
              CUPTI_SUCCESS);
    EXPECT_EQ(enabled, 1u) << domain;
  }
}

}  // namespace
}  // namespace eidolon::shim::cupti
