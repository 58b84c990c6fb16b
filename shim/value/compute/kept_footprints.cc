// Learning a footprint takes milliseconds, and every rank of every job would learn the same ones
// again. The files are shared between processes that do not trust each other's state: another
// build, a crash while writing, or another user may have left anything. So a file is opened without
// following links or blocking, must be the user's own, and carries the build, the key and a hash of
// its rows; it is believed whole or not at all. Rows have no padding, so equal footprints are equal
// bytes. Build and key make up the file's name too, so a new layout needs no version number.
// Whatever a footprint depends on besides its condition has to be in KeyOf, or launches share
// answers that are not theirs.
#include "shim/value/compute/kept_footprints.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "services/base/hex.h"
#include "services/base/replace_file.h"
#include "services/base/text.h"
#include "shim/core/build_identity.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kMagic = 0x3174707274666965;  // "eiftrpt1"

struct Header {
  std::uint64_t magic;
  base::Digest build;
  base::Digest key;
  std::uint64_t check;  // Hash64 of all that follows.
  std::uint64_t count;
};

// One footprint; its lists follow in this order.
struct Entry {
  std::uint32_t words;
  std::uint32_t writes;
  std::uint32_t buffers;
  std::uint32_t everything;
  std::uint32_t all_variables;
  std::uint32_t reserved;
};

struct WriteRow {
  std::int64_t begin;
  std::int64_t end;
  std::uint32_t pointer;
  std::uint32_t is_certain;
};

class RowWriter {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding would be undefined bytes");
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class RowReader {
 public:
  explicit RowReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  std::optional<T> Take() {
    if (left_.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, left_.data(), sizeof(T));
    left_ = left_.subspan(sizeof(T));
    return value;
  }
  // False when there are not so many.
  template <typename T>
  bool TakeAll(std::size_t count, std::vector<T>& all) {
    if (count > left_.size() / sizeof(T)) return false;
    for (std::size_t i = 0; i < count; ++i) all.push_back(*Take<T>());
    return true;
  }
  std::span<const std::byte> left() const { return left_; }

 private:
  std::span<const std::byte> left_;
};

std::uint64_t CheckOf(std::span<const std::byte> bytes) {
  return bytes.empty() ? kMagic : base::Hash64(bytes.data(), bytes.size(), kMagic);
}

std::optional<KeptFootprint> ParseOne(RowReader& reader, std::size_t pointers) {
  const auto entry = reader.Take<Entry>();
  if (!entry || entry->everything > 1 || entry->all_variables > 1 || entry->reserved != 0) {
    return std::nullopt;
  }
  std::vector<Condition::Word> words;
  std::vector<WriteRow> writes;
  KeptFootprint one{.condition = Condition(std::vector<Condition::Word>()), .footprint = {}};
  if (!reader.TakeAll(entry->words, words) || !reader.TakeAll(entry->writes, writes) ||
      !reader.TakeAll(entry->buffers, one.footprint.buffers)) {
    return std::nullopt;
  }
  for (const WriteRow& row : writes) {
    if (row.pointer >= pointers || row.begin > row.end || row.is_certain > 1) return std::nullopt;
    one.footprint.writes.push_back({row.pointer, row.begin, row.end, row.is_certain != 0});
  }
  for (const std::uint32_t pointer : one.footprint.buffers) {
    if (pointer >= pointers) return std::nullopt;
  }
  one.condition = Condition(std::move(words));
  one.footprint.everything = entry->everything != 0;
  one.all_variables = entry->all_variables != 0;
  return one;
}

// Nothing when it is not there; no bytes when it is not to be used.
std::optional<std::vector<std::byte>> ReadOwnFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  std::vector<std::byte> bytes;
  struct stat status = {};
  const bool is_own =
      fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (is_own && std::cmp_less_equal(status.st_size, KeptFootprints::kMostBytes)) {
    bytes.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
  }
  close(file);
  return bytes;
}

}  // namespace

base::Digest KeyOf(base::Digest code, std::string_view kernel, const Learning& learning) {
  const interpret::Launch& launch = learning.launch;
  RowWriter writer;
  writer.Put(code);
  for (const interpret::Dims& dims : {launch.grid, launch.block}) {
    for (const std::uint32_t size : {dims.x, dims.y, dims.z}) writer.Put(size);
  }
  writer.Put(launch.dynamic_shared_bytes);
  writer.Put((learning.whole ? 1u : 0u) | (launch.cooperative ? 2u : 0u));
  writer.Put(static_cast<std::uint64_t>(launch.parameters.size()));
  for (const std::uint32_t place : learning.pointers.Places()) writer.Put(place);
  std::vector<std::byte> bytes = writer.Take();
  const auto name = std::as_bytes(std::span(kernel));
  bytes.insert(bytes.end(), name.begin(), name.end());
  return base::Hash128(bytes.data(), bytes.size());
}

std::vector<std::byte> Format(base::Digest build, base::Digest key,
                              std::span<const KeptFootprint> footprints) {
  RowWriter writer;
  for (const KeptFootprint& one : footprints) {
    const Footprint& footprint = one.footprint;
    writer.Put(Entry{.words = static_cast<std::uint32_t>(one.condition.words().size()),
                     .writes = static_cast<std::uint32_t>(footprint.writes.size()),
                     .buffers = static_cast<std::uint32_t>(footprint.buffers.size()),
                     .everything = footprint.everything ? 1u : 0u,
                     .all_variables = one.all_variables ? 1u : 0u,
                     .reserved = 0});
    for (const Condition::Word& word : one.condition.words()) writer.Put(word);
    for (const Footprint::Write& write : footprint.writes) {
      writer.Put(WriteRow{.begin = write.begin,
                          .end = write.end,
                          .pointer = write.pointer,
                          .is_certain = write.is_certain ? 1u : 0u});
    }
    for (const std::uint32_t pointer : footprint.buffers) writer.Put(pointer);
  }
  const std::vector<std::byte> body = writer.Take();
  RowWriter whole;
  whole.Put(Header{.magic = kMagic,
                   .build = build,
                   .key = key,
                   .check = CheckOf(body),
                   .count = footprints.size()});
  std::vector<std::byte> bytes = whole.Take();
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::optional<std::vector<KeptFootprint>> Parse(std::span<const std::byte> bytes,
                                                base::Digest build, base::Digest key,
                                                std::size_t pointers) {
  RowReader reader(bytes);
  const auto header = reader.Take<Header>();
  const bool is_right = header && header->magic == kMagic && header->build == build &&
                        header->key == key && header->count <= KeptFootprints::kMostOfKey &&
                        header->check == CheckOf(reader.left());
  if (!is_right) return std::nullopt;
  std::vector<KeptFootprint> all;
  for (std::uint64_t i = 0; i < header->count; ++i) {
    auto one = ParseOne(reader, pointers);
    if (!one) return std::nullopt;
    all.push_back(std::move(*one));
  }
  if (!reader.left().empty()) return std::nullopt;
  return all;
}

std::string KeptFootprints::PathOf(base::Digest key) const {
  // Builds that are used in turns do not write over each other's.
  const base::Digest name{key.high ^ build_.high, key.low ^ build_.low};
  return base::StrCat(folder_, "/", base::Hex(name), ".footprints");
}

std::vector<KeptFootprint> KeptFootprints::Load(base::Digest key, std::size_t pointers) const {
  if (folder_.empty()) return {};
  const std::string path = PathOf(key);
  const auto bytes = ReadOwnFile(path);
  if (!bytes) return {};
  auto all = Parse(*bytes, build_, key, pointers);
  if (all) return std::move(*all);
  // The agent counts these files (services/agent/launch/code_folder.h).
  if (rename(path.c_str(), (path + ".refused").c_str()) != 0) unlink(path.c_str());
  return {};
}

void KeptFootprints::Add(base::Digest key, std::size_t pointers, KeptFootprint footprint) const {
  if (folder_.empty()) return;
  std::vector<KeptFootprint> all = Load(key, pointers);
  if (all.size() >= kMostOfKey) return;
  all.push_back(std::move(footprint));
  const std::vector<std::byte> bytes = Format(build_, key, all);
  // Failing to keep one costs another process some milliseconds: not worth an error.
  if (bytes.size() <= kMostBytes) base::ReplaceFile(PathOf(key), bytes);
}

const KeptFootprints& ProcessKeptFootprints() {
  static const auto* const kept = [] {
    const char* folder = std::getenv("EIDOLON_INDEX_DIR");
    return new KeptFootprints(folder == nullptr ? "" : folder, core::BuildIdentity());
  }();
  return *kept;
}

}  // namespace eidolon::shim::compute
