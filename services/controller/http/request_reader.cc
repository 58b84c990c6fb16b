// Two parsers read each request, this one and the routing library's; request smuggling lives from
// their differences. So this one accepts one reading only and hands over a head that it has written
// itself. Sizes are checked before memory is taken for what they announce. Each byte of the head is
// looked at once, however small the pieces are in which it comes (scanned_), so that slow senders
// cost no more than others. A refusal is final and frees all memory: where the next request would
// begin is unknown. Bytes behind a complete request stay in input_ for the next one (pipelining).
#include "services/controller/http/request_reader.h"

#include <algorithm>
#include <array>
#include <set>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::controller::http {
namespace {

using base::StrCat;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMethodBytesMax = 16;
// The routing library refuses longer lines with an answer that explains nothing.
constexpr std::size_t kLineBytesMax = 8000;
// A chunk's size as hexadecimal digits.
constexpr std::size_t kChunkDigitsMax = 8;

// Given twice, two readers could each believe another one.
constexpr std::array<std::string_view, 8> kOnce = {
    "host",   "content-length", "transfer-encoding", "authorization", "content-type",
    "expect", "origin",         "content-encoding"};

// Said about the connection, or taken by the reader, or ranges (which may be ignored, and of which
// many overlapping ones multiply an answer), or names that the routing library sets by itself.
constexpr std::array<std::string_view, 15> kDropped = {
    "content-length", "transfer-encoding", "expect",    "connection", "keep-alive",  "te",
    "trailer",        "upgrade",           "range",     "if-range",   "remote_addr", "remote_port",
    "local_addr",     "content-encoding",  "local_port"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool IsTokenCharacter(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenCharacter);
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The routing library takes %xx in values of header lines for escapes.
std::string Escape(std::string_view value) {
  std::string escaped;
  for (const char c : value) {
    escaped += c;
    if (c == '%') escaped += "25";
  }
  return escaped;
}

}  // namespace

std::string_view Name(Reason reason) {
  switch (reason) {
    case Reason::kMalformed:
      return "malformed";
    case Reason::kTooLarge:
      return "too_large";
    case Reason::kUnsupported:
      return "unsupported";
    case Reason::kHeadDeadline:
      return "head_deadline";
    case Reason::kBodyDeadline:
      return "body_deadline";
    case Reason::kSlowReader:
      return "slow_reader";
    case Reason::kClientConnections:
      return "client_connections";
    case Reason::kConnections:
      return "connections";
    case Reason::kMemory:
      return "memory";
  }
  return "malformed";
}

struct RequestReader::Head {
  bool old = false;  // HTTP/1.0
  bool close = false;
  bool keep = false;
  bool chunked = false;
  bool expects = false;
  std::optional<std::size_t> length;
  std::set<std::string> names;
  std::size_t fields = 0;
};

RequestReader::State RequestReader::Take(std::string_view bytes) {
  if (state_ == State::kRefused) return state_;
  input_.append(bytes);
  Advance();
  return state_;
}

Request RequestReader::Release() {
  CHECK(state_ == State::kComplete);
  Request request = std::move(request_);
  request_ = {};
  length_.reset();
  chunk_ = Chunk::kSize;
  continue_wanted_ = false;
  state_ = State::kIdle;
  std::string(input_).swap(input_);  // Gives spare memory back.
  Advance();
  return request;
}

void RequestReader::Drop() {
  std::string().swap(input_);
  std::string().swap(request_.head);
  std::string().swap(request_.body);
  state_ = State::kIdle;
}

bool RequestReader::TakeContinue() {
  // Whoever has begun with the body does not wait.
  const bool waits = continue_wanted_ && state_ == State::kBody && request_.body.empty();
  continue_wanted_ = false;
  return waits;
}

void RequestReader::Advance() {
  if (state_ == State::kIdle) {
    // Empty lines between requests are passed over.
    std::size_t empty = 0;
    while (input_.compare(empty, kLineEnd.size(), kLineEnd) == 0) empty += kLineEnd.size();
    input_.erase(0, empty);
    if (input_.empty() || input_ == "\r") return;
    scanned_ = 0;
    state_ = State::kHead;
  }
  if (state_ == State::kHead && !ReadHead()) return;
  if (state_ == State::kBody && !ReadBody()) return;
}

bool RequestReader::Refuse(int status, Reason reason, std::string detail) {
  Drop();
  refusal_ = Refusal{status, reason, std::move(detail)};
  state_ = State::kRefused;
  return false;
}

bool RequestReader::RefuseBody() {
  return Refuse(413, Reason::kTooLarge,
                StrCat("the body is larger than ", limits_.body_bytes_max, " bytes"));
}

bool RequestReader::ReadHead() {
  // Looked at once: each line feed follows a carriage return, and there is no other control
  // character than these and tabs.
  for (; scanned_ < input_.size(); ++scanned_) {
    if (scanned_ >= limits_.head_bytes_max) {
      return Refuse(431, Reason::kTooLarge,
                    StrCat("request line and header lines are larger than ", limits_.head_bytes_max,
                           " bytes"));
    }
    const char c = input_[scanned_];
    const bool after_return = scanned_ > 0 && input_[scanned_ - 1] == '\r';
    if ((c == '\n') != after_return || (IsControl(c) && c != '\t' && c != '\r' && c != '\n')) {
      return Refuse(400, Reason::kMalformed,
                    "a line feed or carriage return of its own, or another control character, "
                    "stands in the header lines; lines end with both");
    }
    if (c != '\n' || scanned_ < 3 || input_[scanned_ - 2] != '\n') continue;
    const std::string head = input_.substr(0, scanned_ + 1 - kLineEnd.size());
    input_.erase(0, scanned_ + 1);
    return ParseHead(head);
  }
  return false;
}

bool RequestReader::ParseHead(std::string_view text) {
  Head head;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find(kLineEnd);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + kLineEnd.size());
    if (line.size() > kLineBytesMax) {
      return Refuse(431, Reason::kTooLarge,
                    StrCat("a header line is longer than ", kLineBytesMax, " bytes"));
    }
    if (first ? !ParseRequestLine(line, &head) : !ParseField(line, &head)) return false;
    first = false;
  }
  return FinishHead(head);
}

bool RequestReader::ParseRequestLine(std::string_view line, Head* head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first || line.find(' ', first + 1) != last ||
      line.find('\t') != std::string_view::npos) {
    return Refuse(400, Reason::kMalformed, "the request line is not 'METHOD path HTTP/1.1'");
  }
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  request_.method = line.substr(0, first);
  if (!IsToken(request_.method) || request_.method.size() > kMethodBytesMax) {
    return Refuse(400, Reason::kMalformed, "the method is not a token of HTTP");
  }
  if (target.size() > limits_.target_bytes_max) {
    return Refuse(
        414, Reason::kTooLarge,
        StrCat("the path with its query is longer than ", limits_.target_bytes_max, " bytes"));
  }
  if (!target.starts_with('/') || target.find('#') != std::string_view::npos) {
    return Refuse(400, Reason::kMalformed, "the path must begin with '/' and have no fragment");
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool other = version.starts_with("HTTP/");
    return Refuse(other ? 505 : 400, other ? Reason::kUnsupported : Reason::kMalformed,
                  "HTTP/1.1 and HTTP/1.0 are served");
  }
  head->old = version == "HTTP/1.0";
  request_.path = target.substr(0, target.find('?'));
  request_.head = StrCat(line, kLineEnd);
  return true;
}

bool RequestReader::ParseField(std::string_view line, Head* head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Refuse(400, Reason::kMalformed,
                  "a header line is not 'Name: value'; folded lines are not read");
  }
  if (++head->fields > limits_.headers_max) {
    return Refuse(431, Reason::kTooLarge,
                  StrCat("there are more than ", limits_.headers_max, " header lines"));
  }
  const std::string name = Lower(line.substr(0, colon));
  const std::string_view value = Trim(line.substr(colon + 1));
  const bool again = !head->names.insert(name).second;
  if (again && std::find(kOnce.begin(), kOnce.end(), name) != kOnce.end()) {
    return Refuse(400, Reason::kMalformed, StrCat("the header ", name, " is given twice"));
  }
  if (!ReadField(name, value, head)) return false;
  if (std::find(kDropped.begin(), kDropped.end(), name) != kDropped.end()) return true;
  const std::string written = StrCat(line.substr(0, colon), ": ", Escape(value), kLineEnd);
  if (written.size() > kLineBytesMax) {
    return Refuse(431, Reason::kTooLarge,
                  StrCat("a header line is longer than ", kLineBytesMax, " bytes"));
  }
  request_.head += written;
  return true;
}

bool RequestReader::ReadField(std::string_view name, std::string_view value, Head* head) {
  if (name == "content-length") return ReadLength(value, head);
  if (name == "transfer-encoding") {
    head->chunked = Lower(value) == "chunked";
    if (head->chunked) return true;
    return Refuse(501, Reason::kUnsupported, "the only transfer coding that is read is 'chunked'");
  }
  if (name == "content-encoding" && Lower(value) != "identity") {
    return Refuse(415, Reason::kUnsupported, "a coded body is not read; send it as it is");
  }
  if (name == "content-type" && Lower(value).starts_with("multipart/")) {
    return Refuse(415, Reason::kUnsupported, "forms are not read; send JSON or YAML");
  }
  if (name == "expect") {
    head->expects = Lower(value) == "100-continue";
    if (head->expects) return true;
    return Refuse(417, Reason::kUnsupported, "the only expectation that is met is 100-continue");
  }
  if (name == "connection") {
    for (const std::string_view part : base::Split(value, ',')) {
      const std::string option = Lower(Trim(part));
      if (option == "close") head->close = true;
      if (option == "keep-alive") head->keep = true;
    }
  }
  return true;
}

bool RequestReader::ReadLength(std::string_view value, Head* head) {
  if (value.empty() || value.find_first_not_of("0123456789") != std::string_view::npos) {
    return Refuse(400, Reason::kMalformed, "Content-Length is not one number");
  }
  const auto length = base::ParseInteger(value);
  if (!length || static_cast<std::uint64_t>(*length) > limits_.body_bytes_max) return RefuseBody();
  head->length = static_cast<std::size_t>(*length);
  return true;
}

bool RequestReader::FinishHead(const Head& head) {
  if (head.chunked && (head.length || head.old)) {
    return Refuse(400, Reason::kMalformed,
                  "Transfer-Encoding stands beside Content-Length or in HTTP/1.0");
  }
  if (!head.old && !head.names.contains("host")) {
    return Refuse(400, Reason::kMalformed, "the Host header is missing");
  }
  if (head.close || (head.old && !head.keep)) request_.head += "Connection: close\r\n";
  if (head.old && head.keep && !head.close) request_.head += "Connection: Keep-Alive\r\n";
  length_ = head.chunked ? std::nullopt : std::optional(head.length.value_or(0));
  continue_wanted_ = head.expects && !head.old && length_ != 0;
  state_ = State::kBody;
  return true;
}

bool RequestReader::ReadBody() {
  if (length_) {
    const std::size_t part = std::min(*length_ - request_.body.size(), input_.size());
    request_.body.append(input_, 0, part);
    input_.erase(0, part);
    if (request_.body.size() < *length_) return false;
  } else if (!ReadChunks()) {
    return false;
  }
  request_.head += StrCat("Content-Length: ", request_.body.size(), kLineEnd, kLineEnd);
  state_ = State::kComplete;
  return true;
}

std::optional<std::string> RequestReader::TakeLine() {
  const std::size_t end = input_.find(kLineEnd);
  if (end == std::string::npos || end > kChunkDigitsMax) return std::nullopt;
  std::string line = input_.substr(0, end);
  input_.erase(0, end + kLineEnd.size());
  return line;
}

bool RequestReader::ReadChunks() {
  while (true) {
    if (chunk_ == Chunk::kData) {
      const std::size_t part = std::min(chunk_left_, input_.size());
      request_.body.append(input_, 0, part);
      input_.erase(0, part);
      chunk_left_ -= part;
      if (chunk_left_ > 0) return false;
      chunk_ = Chunk::kDataEnd;
    }
    const auto line = TakeLine();
    if (!line) {
      if (input_.size() <= kChunkDigitsMax + 1) return false;
      return Refuse(400, Reason::kMalformed,
                    "a chunk's size is not a hexadecimal number on a line of its own");
    }
    if (chunk_ == Chunk::kDataEnd || chunk_ == Chunk::kTrailer) {
      if (!line->empty()) {
        return Refuse(400, Reason::kMalformed,
                      "a chunk is longer than its size, or a trailer follows, which is not read");
      }
      if (chunk_ == Chunk::kTrailer) return true;
      chunk_ = Chunk::kSize;
      continue;
    }
    std::size_t size = 0;
    for (const char c : *line) {
      if (HexDigit(c) < 0) {
        return Refuse(400, Reason::kMalformed, "a chunk's size is not a hexadecimal number");
      }
      size = size * 16 + static_cast<std::size_t>(HexDigit(c));
    }
    if (line->empty()) return Refuse(400, Reason::kMalformed, "a chunk's size is missing");
    if (size > limits_.body_bytes_max - request_.body.size()) return RefuseBody();
    chunk_left_ = size;
    chunk_ = size == 0 ? Chunk::kTrailer : Chunk::kData;
  }
}

}  // namespace eidolon::controller::http
