#include "shim/vendor/cupti/nvtx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/vendor/cupti/subscription.h"

namespace eidolon::shim::cupti::nvtx {
namespace {

using core::FakeAgent;
using ring::RecordKind;
using ::testing::ElementsAre;

// NVTX keeps this inside a program: function pointers, and tables that lead to them.
template <std::size_t kSize>
struct Module {
  std::array<NvtxFunctionPointer, kSize> functions{};
  std::array<NvtxFunctionPointer*, kSize> slots{};
  Module() {
    for (std::size_t i = 1; i < kSize; ++i) slots[i] = &functions[i];
  }
};
Module<NVTX_CBID_CORE_SIZE> plain;
Module<NVTX_CBID_CORE2_SIZE> domain;

int GetTable(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  if (module == NVTX_CB_MODULE_CORE) {
    *table = plain.slots.data();
    *size = plain.slots.size();
  } else if (module == NVTX_CB_MODULE_CORE2) {
    *table = domain.slots.data();
    *size = domain.slots.size();
  } else {
    return 0;
  }
  return 1;
}
const void* GetExportTable(std::uint32_t id) {
  static const NvtxExportTableCallbacks callbacks{sizeof(callbacks), GetTable};
  return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
}
const void* NoExportTable(std::uint32_t) { return nullptr; }

template <typename Function>
Function Plain(NvtxCallbackIdCore id) {
  return reinterpret_cast<Function>(plain.functions[id]);
}
template <typename Function>
Function InDomain(NvtxCallbackIdCore2 id) {
  return reinterpret_cast<Function>(domain.functions[id]);
}

class NvtxTest : public ::testing::Test {
 protected:
  NvtxTest() : agent_(FakeAgent::Start()) {
    core::Session::Get();
    agent_.Reset();
    EXPECT_EQ(Attach(GetExportTable), 1);
  }

  std::vector<std::string> Ranges() {
    std::vector<std::string> ranges;
    for (const FakeAgent::Record& record : agent_.Records()) {
      const auto& mark = record.As<ring::MarkRecord>();
      const auto* name = reinterpret_cast<const char*>(record.bytes.data() + sizeof(mark));
      ranges.push_back((record.kind() == RecordKind::kRangePush ? "push " : "pop ") +
                       std::to_string(mark.id) + " " + std::string(name, mark.name_bytes));
    }
    return ranges;
  }

  FakeAgent& agent_;
};

TEST_F(NvtxTest, PushedRangesNest) {
  const auto push = Plain<nvtxRangePushA_impl_fntype>(NVTX_CBID_CORE_RangePushA);
  const auto pop = Plain<nvtxRangePop_impl_fntype>(NVTX_CBID_CORE_RangePop);

  EXPECT_EQ(push("step"), 0);
  EXPECT_EQ(push("forward"), 1);
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(pop(), 0);
  EXPECT_LT(pop(), 0);

  EXPECT_THAT(Ranges(), ElementsAre("push 0 step", "push 0 forward", "pop 0 ", "pop 0 "));
}

TEST_F(NvtxTest, StartedRangesHaveNumbers) {
  const auto start = Plain<nvtxRangeStartA_impl_fntype>(NVTX_CBID_CORE_RangeStartA);
  const auto end = Plain<nvtxRangeEnd_impl_fntype>(NVTX_CBID_CORE_RangeEnd);

  const nvtxRangeId_t first = start("first");
  const nvtxRangeId_t second = start("second");
  end(first);
  end(second);

  const std::string a = std::to_string(first);
  const std::string b = std::to_string(second);
  EXPECT_NE(a, b);
  EXPECT_THAT(Ranges(), ElementsAre("push " + a + " first", "push " + b + " second",
                                    "pop " + a + " ", "pop " + b + " "));
}

TEST_F(NvtxTest, ReadsEveryKindOfName) {
  const auto push = InDomain<nvtxDomainRangePushEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangePushEx);
  const auto create = InDomain<nvtxDomainCreateA_impl_fntype>(NVTX_CBID_CORE2_DomainCreateA);
  const auto intern =
      InDomain<nvtxDomainRegisterStringW_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringW);
  const nvtxDomainHandle_t mine = create("mine");
  nvtxEventAttributes_t event{};
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = L"sch\u00f6n \u20ac";

  push(mine, &event);
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = intern(mine, L"registered");
  push(mine, &event);
  event.messageType = NVTX_MESSAGE_UNKNOWN;
  push(mine, &event);
  push(nullptr, nullptr);

  EXPECT_NE(mine, nullptr);
  EXPECT_THAT(Ranges(),
              ElementsAre("push 0 sch\u00f6n \u20ac", "push 0 registered", "push 0 ", "push 0 "));
}

// The calls that a subscriber was told of: name, first text or number, result.
std::vector<std::string> told;

void Tell(void* /*user_data*/, CUpti_CallbackDomain told_domain, CUpti_CallbackId id,
          const void* given) {
  EXPECT_EQ(told_domain, CUPTI_CB_DOMAIN_NVTX);
  const auto& call = *static_cast<const CUpti_NvtxData*>(given);
  std::string text = call.functionName;
  if (id == CUPTI_CBID_NVTX_nvtxRangePushA || id == CUPTI_CBID_NVTX_nvtxMarkA) {
    text += std::string(" ") + *static_cast<const char* const*>(call.functionParams);
  }
  if (id == CUPTI_CBID_NVTX_nvtxNameOsThreadA) {
    text += " " + std::to_string(*static_cast<const std::uint32_t*>(call.functionParams));
  }
  const auto* depth = static_cast<const int*>(call.functionReturnValue);
  if (depth != nullptr) text += " = " + std::to_string(*depth);
  told.push_back(text);
}

TEST_F(NvtxTest, ASubscriberOfCuptiIsToldOfCallsWithParametersAndResult) {
  const auto push = Plain<nvtxRangePushA_impl_fntype>(NVTX_CBID_CORE_RangePushA);
  const auto pop = Plain<nvtxRangePop_impl_fntype>(NVTX_CBID_CORE_RangePop);
  const auto mark = Plain<nvtxMarkA_impl_fntype>(NVTX_CBID_CORE_MarkA);
  const auto name = Plain<nvtxNameOsThreadA_impl_fntype>(NVTX_CBID_CORE_NameOsThreadA);
  while (pop() >= 0) {  // What other tests have left.
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  ASSERT_EQ(subscription::Subscribe(&subscriber, Tell, nullptr), CUPTI_SUCCESS);
  ASSERT_EQ(subscription::EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_NVTX), CUPTI_SUCCESS);

  push("step");
  mark("here");
  name(42, "loader");
  pop();
  EXPECT_EQ(subscription::Unsubscribe(subscriber), CUPTI_SUCCESS);
  mark("unheard");

  EXPECT_THAT(told, ElementsAre("nvtxRangePushA step = 0", "nvtxMarkA here", "nvtxNameOsThreadA 42",
                                "nvtxRangePop = 0"));
}

TEST_F(NvtxTest, StaysOutOfProgramsWithoutATable) {
  EXPECT_EQ(Attach(nullptr), 0);
  EXPECT_EQ(Attach(NoExportTable), 0);
  EXPECT_EQ(AttachExtension(nullptr), 0);
}

}  // namespace
}  // namespace eidolon::shim::cupti::nvtx
