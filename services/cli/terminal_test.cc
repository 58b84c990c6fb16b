#include "services/cli/terminal.h"

#include <gtest/gtest.h>

#include "services/cli/client.h"
#include "services/cli/follow.h"

namespace eidolon::cli {
namespace {

// Captures what is written to a stream.
class Capture {
 public:
  Capture() : stream_(open_memstream(&text_, &size_)) {}
  ~Capture() {
    std::fclose(stream_);
    free(text_);
  }
  std::FILE* stream() { return stream_; }
  std::string text() {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

TEST(TerminalTest, LinesDoNotMixWithTheProgressLine) {
  Capture out;
  Terminal terminal(out.stream(), out.stream(), {.interactive = true});

  terminal.ShowProgress("50 %");
  terminal.Print("a line\n");
  terminal.ShowProgress("");

  EXPECT_EQ(out.text(), "\r\033[K50 %\r\033[Ka line\n50 %\r\033[K");
}

TEST(TerminalTest, WithoutATerminalThereIsALineOfProgressNowAndThen) {
  Capture out;
  Capture err;
  Terminal terminal(out.stream(), err.stream(), {.seconds_between_lines = 0});

  terminal.ShowProgress("50 %");
  terminal.ShowProgress("");

  EXPECT_EQ(out.text(), "");
  EXPECT_EQ(err.text(), "50 %\n");
}

TEST(TerminalTest, WithoutATerminalThereIsNoProgressInTheFirstHalfMinute) {
  Capture out;
  Capture err;
  Terminal terminal(out.stream(), err.stream(), {});

  terminal.ShowProgress("50 %");
  terminal.Print("a line\n");

  EXPECT_EQ(out.text(), "a line\n");
  EXPECT_EQ(err.text(), "");
}

TEST(TerminalTest, ShowsEscapesOnATerminalAndPassesThemToFiles) {
  Capture screen, file;
  {
    Terminal terminal(screen.stream(), screen.stream(), {.interactive = true, .printable = true});
    Terminal raw(file.stream(), file.stream(), {});

    terminal.Print("\x1b[2Jloss \xc3");
    terminal.Print("\xa4\n");
    raw.Print("\x1b[2J\n");
    terminal.ShowProgress("\x1b[2J");
  }

  EXPECT_EQ(screen.text(), "\\x1b[2Jloss ä\n\r\033[K\\x1b[2J");
  EXPECT_EQ(file.text(), "\x1b[2J\n");
}

TEST(TerminalTest, TheProgressLineStaysOneLine) {
  Capture out;
  Capture err;
  {
    Terminal terminal(out.stream(), err.stream(), {.interactive = true, .printable = true});
    terminal.ShowProgress("a\n\tb\033[2J 50 %");
  }
  EXPECT_EQ(err.text(), "\r\033[Ka\\x0a\\x09b\\x1b[2J 50 %");
}

TEST(EventSplitterTest, GivesEventsWhenTheyAreComplete) {
  EventSplitter events;
  EventSplitter::Event event;

  events.Add("retry: 1000\n\nid: 7\nevent: sta");
  EXPECT_TRUE(events.Next(&event));
  EXPECT_EQ(event.type, "");
  EXPECT_FALSE(events.Next(&event));

  events.Add("tus\ndata: {}\n\n");
  ASSERT_TRUE(events.Next(&event));
  EXPECT_EQ(event.type, "status");
  EXPECT_EQ(event.data, "{}");
}

TEST(ClientTest, ShowsEveryProblemOfADocument) {
  EXPECT_EQ(DescribeProblem(422, R"({"detail": "x", "errors": [
                {"pointer": "/spec/servers", "detail": "must be at least 1"},
                {"pointer": "/spec/command", "detail": "is required"}]})"),
            "the document was refused:\n  /spec/servers: must be at least 1\n"
            "  /spec/command: is required");
  EXPECT_EQ(DescribeProblem(404, R"({"detail": "no job 'x'"})"), "no job 'x'");
  EXPECT_EQ(DescribeProblem(502, "<html>"), "the controller answered 502");
}

TEST(ClientTest, SaysHowToGetAControllerWhenThereIsNone) {
  const Client client({.server = "127.0.0.1:1", .socket = "", .token = ""});
  const auto answer = client.Send({.path = "/livez"});

  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("start one with 'eidolon up'"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::cli
