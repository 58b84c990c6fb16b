// Lines from a file descriptor, as they come.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace eidolon::agent::launch {

// Owns the descriptor. Not thread safe.
class LineReader {
 public:
  static constexpr std::size_t kLongestLine = 64 << 10;

  explicit LineReader(int descriptor) : descriptor_(descriptor) {}
  ~LineReader() { Close(); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // -1 once the other side has closed.
  int descriptor() const { return descriptor_; }

  // Reads once (blocking when nothing is there) and returns the lines that are complete. A line
  // longer than kLongestLine comes in parts. Carriage returns end lines too: progress bars rewrite
  // theirs.
  std::vector<std::string> Read();
  // Returns what is left without a newline; nothing when that is empty.
  std::optional<std::string> TakeRest();
  void Close();

 private:
  int descriptor_;
  std::string rest_;
};

}  // namespace eidolon::agent::launch
