// Any bytes as a recording: refused with a sentence, or read to the end of every rank. The first
// byte says whether what follows is a file, or the entries of a rank before compression.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zstd.h>

#include "services/base/check.h"
#include "services/recording/entry_reader.h"
#include "services/recording/recording_file.h"

namespace eidolon::recording {
namespace {

void ReadAll(std::span<const std::byte> frame) {
  EntryReader reader(frame);
  for (int i = 0; i < 100'000; ++i) {
    const auto entry = reader.Next();
    if (!entry) {
      CHECK(!entry.error().message.empty());
      return;
    }
    if (!entry->has_value()) return;
    CHECK((*entry)->bytes.size() == (*entry)->header().bytes);
  }
}

}  // namespace
}  // namespace eidolon::recording

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::recording;
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] % 2 == 0) {
    const auto file = RecordingFile::Read(rest);
    if (!file) {
      CHECK(!file.error().message.empty());
      return 0;
    }
    for (const RecordedRank& rank : file->ranks()) ReadAll(rank.entries);
    return 0;
  }
  std::vector<std::byte> frame(ZSTD_compressBound(rest.size()));
  const std::size_t bytes =
      ZSTD_compress(frame.data(), frame.size(), rest.data(), rest.size(), /*compressionLevel=*/1);
  ReadAll(std::span(frame).first(bytes));
  // As they are: no frame at all, most of the time.
  ReadAll(rest);
  return 0;
}
