#include "services/controller/http/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::controller::http {
namespace {

using State = RequestReader::State;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHost[] = "Host: a\r\n";

// The request with this head and body, which come byte by byte.
Request ReadSlowly(const std::string& text) {
  RequestReader reader({});
  for (std::size_t at = 0; at < text.size(); ++at) {
    EXPECT_NE(reader.state(), State::kComplete) << at << " of " << text;
    reader.Take(text.substr(at, 1));
  }
  EXPECT_EQ(reader.state(), State::kComplete) << text;
  return reader.state() == State::kComplete ? reader.Release() : Request();
}

// Returns what is refused, whole and byte by byte alike.
Refusal RefusalOf(const std::string& text) {
  RequestReader whole({});
  RequestReader slow({});
  EXPECT_EQ(whole.Take(text), State::kRefused) << text;
  for (const char c : text) slow.Take({&c, 1});
  if (whole.state() != State::kRefused || slow.state() != State::kRefused) return {0, {}, ""};
  EXPECT_EQ(whole.refusal().detail, slow.refusal().detail);
  return whole.refusal();
}

TEST(RequestReaderTest, ReadsARequestHoweverItArrives) {
  const Request request =
      ReadSlowly("POST /a?b=c HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\ncontent-length: 4\r\n\r\nbody");

  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.head, "POST /a?b=c HTTP/1.1\r\nHost: a\r\nX-Y: z\r\nContent-Length: 4\r\n\r\n");
}

TEST(RequestReaderTest, PutsChunksTogether) {
  const Request request = ReadSlowly(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "4\r\nbo\r\n\r\n00a\r\n0123456789\r\n0\r\n\r\n");

  EXPECT_EQ(request.body, "bo\r\n0123456789");
  EXPECT_THAT(request.head, HasSubstr("Content-Length: 14\r\n"));
  EXPECT_THAT(request.head, Not(HasSubstr("Transfer-Encoding")));
}

TEST(RequestReaderTest, KeepsTheNextRequestForLater) {
  RequestReader reader({});
  reader.Take("GET /a HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c");

  EXPECT_EQ(reader.Release().path, "/a");
  EXPECT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.Release().path, "/b");
  EXPECT_EQ(reader.state(), State::kHead);
}

TEST(RequestReaderTest, SaysWhenToContinue) {
  RequestReader reader({});
  reader.Take("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(reader.TakeContinue());
  EXPECT_FALSE(reader.TakeContinue());
  EXPECT_EQ(reader.Take("ab"), State::kComplete);
  EXPECT_THAT(reader.Release().head, Not(HasSubstr("Expect")));

  // Nobody waits who has sent the body already.
  reader.Take("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\na");
  EXPECT_FALSE(reader.TakeContinue());
}

TEST(RequestReaderTest, LeavesOutWhatAClientMayNotSayAndWhatMultiplies) {
  const Request request = ReadSlowly(
      "GET / HTTP/1.1\r\nHost: a\r\nremote_addr: unix:0\r\nREMOTE_PORT: 1\r\nLocal_Addr: b\r\n"
      "Range: bytes=0-,0-,0-\r\nConnection: close, x\r\nX: 10%41\r\n\r\n");

  EXPECT_EQ(request.head,
            "GET / HTTP/1.1\r\nHost: a\r\nX: 10%2541\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n");
}

TEST(RequestReaderTest, RefusesWhatTwoReadersCouldUnderstandDifferently) {
  const std::string get = "GET / HTTP/1.1\r\n";
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  const struct {
    const char* what;
    std::string text;
  } rows[] = {
      {"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
      {"the same length twice", post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na"},
      {"a list of lengths", post + "Content-Length: 1, 1\r\n\r\na"},
      {"a signed length", post + "Content-Length: +1\r\n\r\na"},
      {"an empty length", post + "Content-Length:\r\n\r\n"},
      {"a length in hexadecimal", post + "Content-Length: 0x1\r\n\r\na"},
      {"a length and chunks", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0"},
      {"chunks twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"chunks of HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"a chunk size that is none", chunked + "x\r\n"},
      {"a chunk size with a sign", chunked + "+1\r\na\r\n"},
      {"a chunk size with a space", chunked + "1 \r\na\r\n"},
      {"an empty chunk size", chunked + "\r\n"},
      {"a chunk size that is too long", chunked + "0000000001\r\na"},
      {"an extension of a chunk", chunked + "1;a=b\r\n"},
      {"a bare line feed after a size", chunked + "1\na\r\n0\r\n\r\n"},
      {"a chunk that is too long", chunked + "1\r\nabc\r\n0\r\n\r\n"},
      {"a trailer", chunked + "0\r\nA: b\r\n\r\n"},
      {"a bare line feed", "GET / HTTP/1.1\n"},
      {"a bare line feed in a header", get + "Host: a\nX: b\r\n\r\n"},
      {"a bare carriage return", get + "Host: a\rX: b\r\n\r\n"},
      {"a folded line", get + "Host: a\r\n b\r\n\r\n"},
      {"a space before the colon", get + "Host : a\r\n\r\n"},
      {"no colon", get + "Host\r\n\r\n"},
      {"no name", get + ": a\r\n\r\n"},
      {"a zero byte", get + std::string("Host: a\0b\r\n\r\n", 12)},
      {"a control character", get + "Host: a\x01\r\n\r\n"},
      {"no host", get + "\r\n"},
      {"two hosts", get + "Host: a\r\nHost: b\r\n\r\n"},
      {"two tokens", get + kHost + "Authorization: a\r\nauthorization: b\r\n\r\n"},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"no version", "GET /\r\nHost: a\r\n\r\n"},
      {"no method", " / HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"another host in the path", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"a fragment", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"no HTTP", "\x16\x03\x01\x02"},
  };
  for (const auto& row : rows) EXPECT_EQ(RefusalOf(row.text).status, 400) << row.what;
}

TEST(RequestReaderTest, SaysWhatIsTooLargeOrNotRead) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  std::string lines = post;
  for (int i = 0; i < 100; ++i) lines += "X: y\r\n";
  const struct {
    std::string text;
    int status;
    const char* detail;
  } rows[] = {
      {"GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414, "than 2048 bytes"},
      {post + "X: " + std::string(20'000, 'a'), 431, "than 16384 bytes"},
      {post + "X: " + std::string(9000, 'a') + "\r\n\r\n", 431, "than 8000 bytes"},
      {post + "X: " + std::string(5000, '%') + "\r\n\r\n", 431, "than 8000 bytes"},
      {lines + "\r\n", 431, "more than 100 header lines"},
      {post + "Content-Length: 1048577\r\n\r\n", 413, "larger than 1048576 bytes"},
      {post + "Content-Length: 99999999999999999999\r\n\r\n", 413, "larger than"},
      {post + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", 413, "larger than"},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "'chunked'"},
      {post + "Content-Encoding: gzip\r\n\r\n", 415, "send it as it is"},
      {post + "Content-Type: Multipart/form-data; boundary=B\r\n\r\n", 415, "forms are not read"},
      {post + "Expect: wonders\r\n\r\n", 417, "100-continue"},
      {"GET / HTTP/2.0\r\n\r\n", 505, "HTTP/1.1"},
  };
  for (const auto& row : rows) {
    const Refusal refusal = RefusalOf(row.text);
    EXPECT_EQ(refusal.status, row.status) << row.text.substr(0, 60);
    EXPECT_THAT(refusal.detail, HasSubstr(row.detail));
  }
}

// Chunks may add up to what no single one has.
TEST(RequestReaderTest, HoldsNoMoreThanItsLimits) {
  RequestReader reader({.body_bytes_max = 100'000});
  reader.Take("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "1000\r\n" + std::string(4096, 'a') + "\r\n";
  std::size_t most = 0;
  for (int i = 0; i < 100 && reader.state() == State::kBody; ++i) {
    reader.Take(chunk);
    most = std::max(most, reader.memory());
  }

  EXPECT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal().status, 413);
  EXPECT_LE(most, 250'000u);
  EXPECT_LE(reader.memory(), 1000u);
}

}  // namespace
}  // namespace eidolon::controller::http
