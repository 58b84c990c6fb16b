// A process whose interpreter is this test.
#include "shim/core/call_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "services/contract/ring/python_line.h"
#include "shim/core/fake_agent.h"
#include "shim/core/session.h"

namespace {
constinit bool runs_python = true;
std::string stack;
}  // namespace

// These are declared as in CPython.
extern "C" {
__attribute__((visibility("default"))) int Py_IsInitialized() { return 1; }
__attribute__((visibility("default"))) void* PyGILState_GetThisThreadState() {
  return runs_python ? &stack : nullptr;
}
__attribute__((visibility("default"))) void _Py_DumpTraceback(int file, void*) {
  const ssize_t written = write(file, stack.data(), stack.size());
  EXPECT_EQ(written, static_cast<ssize_t>(stack.size()));
}
}

namespace eidolon::shim::core {
namespace {

using ring::RecordKind;

class CallLinesTest : public ::testing::Test {
 protected:
  CallLinesTest() : agent_(FakeAgent::Start()), session_(*Session::Get()) {
    agent_.Reset();
    Want(true);
  }

  void Want(bool wanted) { agent_.cursors().wants_timeline.store(wanted ? 1 : 0); }
  void LaunchAt(const std::string& file, int line) {
    stack = "  File \"" + file + "\", line " + std::to_string(line) + " in step\n";
    ring::LaunchRecord record{};
    record.header.kind = RecordKind::kLaunch;
    record.work = 1;
    Append(session_, record);
  }
  void Synchronize(std::uint32_t observer) {
    ring::WaitRecord record{};
    record.header.kind = RecordKind::kSynchronizeStream;
    record.observer = observer;
    Ask(session_, record, true);
  }
  // Returns what a reader of the ring knows of each launch and wait: its line's text.
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    for (const FakeAgent::Record& record : agent_.Records()) {
      if (record.kind() == RecordKind::kPythonLine) {
        const auto& mark = record.As<ring::MarkRecord>();
        const auto* name = reinterpret_cast<const char*>(record.bytes.data() + sizeof(mark));
        if (mark.name_bytes > 0) {
          texts_[mark.id] = std::string(name, mark.name_bytes);
        } else {
          line_ = mark.id;
        }
      } else {
        lines.push_back(line_ == ring::kNoPythonLine ? "" : texts_[line_]);
      }
    }
    return lines;
  }

  FakeAgent& agent_;
  Session& session_;
  // As an agent keeps them: numbers go on from one test to the next.
  static inline std::map<std::uint64_t, std::string> texts_;
  static inline std::uint64_t line_ = ring::kNoPythonLine;
};

TEST_F(CallLinesTest, EachCallIsMadeWhereTheProgramWas) {
  LaunchAt("train.py", 40);
  LaunchAt("train.py", 40);
  LaunchAt("train.py", 41);
  LaunchAt("train.py", 40);

  EXPECT_EQ(Lines(), (std::vector<std::string>{"train.py:40 in step", "train.py:40 in step",
                                               "train.py:41 in step", "train.py:40 in step"}));
}

TEST_F(CallLinesTest, ALineIsToldWhereItChangesAndItsTextOnce) {
  LaunchAt("once.py", 1);
  LaunchAt("once.py", 1);
  LaunchAt("once.py", 2);
  LaunchAt("once.py", 1);

  EXPECT_EQ(agent_.RecordsOf(RecordKind::kPythonLine).size(), 2u + 3u);  // Texts, changes.
  Lines();
}

TEST_F(CallLinesTest, AThreadThatRunsNoPythonHasNoLine) {
  LaunchAt("train.py", 50);
  runs_python = false;
  LaunchAt("train.py", 50);
  runs_python = true;

  EXPECT_EQ(Lines(), (std::vector<std::string>{"train.py:50 in step", ""}));
}

TEST_F(CallLinesTest, WaitsHaveALineButNotThoseOfObservers) {
  LaunchAt("train.py", 60);
  stack = "  File \"train.py\", line 61 in step\n";
  Synchronize(/*observer=*/1);
  Synchronize(/*observer=*/0);

  EXPECT_EQ(Lines(), (std::vector<std::string>{"train.py:60 in step", "train.py:60 in step",
                                               "train.py:61 in step"}));
}

TEST_F(CallLinesTest, NobodyLooksUnlessTheAgentWantsIt) {
  Want(false);
  LaunchAt("never.py", 70);

  EXPECT_TRUE(agent_.RecordsOf(RecordKind::kPythonLine).empty());
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kLaunch).size(), 1u);
}

}  // namespace
}  // namespace eidolon::shim::core
