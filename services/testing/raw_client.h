// A client of TCP or of a Unix socket that sends any bytes, as slowly as a test likes.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::testing {

// This class is not thread-safe. Waits for at most 60 s each time.
class RawClient {
 public:
  // Connects to "127.0.0.1:PORT", from another loopback address when `from` is not empty.
  static RawClient Tcp(const std::string& address, const std::string& from = "");
  static RawClient Unix(const std::string& path);
  RawClient(RawClient&& other) noexcept;
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient();

  bool connected() const { return socket_ >= 0; }
  // False when the other side has closed.
  bool Send(std::string_view bytes) const;
  // Says that nothing more will be sent.
  void EndSending() const;
  // Returns the bytes that come first; empty when the other side closes.
  std::string ReadSome() const;
  // What comes until the other side closes.
  std::string ReadAll() const;
  // What comes until it ends with `end`, or the other side closes.
  std::string ReadUntil(std::string_view end) const;

 private:
  explicit RawClient(int socket) : socket_(socket) {}
  int socket_ = -1;
};

}  // namespace eidolon::testing
