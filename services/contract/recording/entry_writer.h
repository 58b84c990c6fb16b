// Writes the entries of one rank, compressed, into a file of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"

struct ZSTD_CCtx_s;

namespace eidolon::recording {

// This class is not thread-safe. What cannot be written, and what is beyond the limit, is told by
// Finish.
class EntryWriter {
 public:
  // Limit of a rank's file. Some 10 bytes an operation: a hundred million operations.
  static constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 30;

  explicit EntryWriter(std::string path, std::uint64_t bytes_max = kBytesMax);
  ~EntryWriter();
  EntryWriter(const EntryWriter&) = delete;
  EntryWriter& operator=(const EntryWriter&) = delete;

  // Requires: a whole entry, a multiple of 8 bytes.
  void Add(std::span<const std::byte> entry);
  // No more entries. The error says why the file is of no use.
  base::Result<void> Finish();

  const std::string& path() const { return path_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t entry_bytes() const { return entry_bytes_; }

 private:
  void Compress(bool end);

  struct ContextDeleter {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  struct FileDeleter {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::uint64_t bytes_max_;
  std::unique_ptr<std::FILE, FileDeleter> file_;
  std::unique_ptr<ZSTD_CCtx_s, ContextDeleter> context_;
  std::vector<std::byte> waiting_;
  std::vector<std::byte> compressed_;
  std::uint64_t entries_ = 0;
  std::uint64_t entry_bytes_ = 0;
  std::uint64_t bytes_ = 0;  // Written.
  std::string failure_;
};

}  // namespace eidolon::recording
