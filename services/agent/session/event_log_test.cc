#include "services/agent/session/event_log.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace eidolon::agent::session {
namespace {

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest() {
    char path[] = "/tmp/eidolon-events-XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~EventLogTest() override { std::filesystem::remove_all(folder_); }

  std::string Joined(std::vector<EventLogPart> parts) const {
    JoinEventLogs(std::move(parts), folder_ + "/all");
    std::stringstream text;
    text << std::ifstream(folder_ + "/all").rdbuf();
    return text.str();
  }

  std::string folder_;
};

TEST_F(EventLogTest, PartsStandInTheOrderOfTheirRanks) {
  std::ofstream(folder_ + "/a") << "one\ntwo\nthree\n";
  std::ofstream(folder_ + "/b") << "four\n";

  EXPECT_EQ(Joined({{.rank = 1, .path = folder_ + "/a", .lines_max = 2},
                    {.rank = 0, .path = folder_ + "/b", .lines_max = {}}}),
            "rank 0 four\nrank 1 one\nrank 1 two\n");
}

TEST_F(EventLogTest, APartThatSomebodyBlewUpCostsNoMemory) {
  std::ofstream(folder_ + "/a") << "one\n";
  std::filesystem::resize_file(folder_ + "/a", std::uintmax_t{1} << 40);  // A hole.

  EXPECT_EQ(Joined({{.rank = 0, .path = folder_ + "/a", .lines_max = {}}}), "rank 0 one\n");
}

}  // namespace
}  // namespace eidolon::agent::session
