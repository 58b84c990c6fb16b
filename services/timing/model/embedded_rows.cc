#include "services/timing/model/embedded_rows.h"

#include <zstd.h>

#include "services/base/check.h"

namespace eidolon::timing::model {

std::string Decompress(const EmbeddedRows& file) {
  const auto size = ZSTD_getFrameContentSize(file.compressed.data(), file.compressed.size());
  CHECK(size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR);
  std::string text(size, '\0');
  const std::size_t written =
      ZSTD_decompress(text.data(), text.size(), file.compressed.data(), file.compressed.size());
  CHECK(written == size);
  return text;
}

}  // namespace eidolon::timing::model
