// Device code as programs hand it over: a fat binary, a cubin or PTX text in memory. An Image finds
// what a device would load and gives its index, unpacking and parsing only when no earlier process
// has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/index.h"
#include "services/machine_code/cubin/target.h"

namespace eidolon::cubin {

enum class ImageKind { kFatBinary, kCubin, kPtx };

// Bytes and kind of the code at `start`, which carries its own length. Requires: `start` points to
// something that the vendor's module loading would accept, or at least to 64 readable bytes.
struct FoundImage {
  ImageKind kind;
  Bytes bytes;
};
base::Result<FoundImage> FindImage(const void* start);

// The code that `device` would load from the image, unpacked: what Header::content is the hash of.
base::Result<std::vector<std::byte>> CodeFor(const FoundImage& image, Capability device);

// An index and the memory it lives in: built here or mapped from the cache.
class LoadedIndex {
 public:
  LoadedIndex(const LoadedIndex&) = delete;
  LoadedIndex& operator=(const LoadedIndex&) = delete;
  ~LoadedIndex();

  const Index& index() const { return index_; }
  bool from_cache() const { return mapped_ != nullptr; }

 private:
  friend class IndexCache;
  LoadedIndex() = default;

  std::vector<std::byte> built_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  Index index_;
};

// Indices by the content they were made from, shared between processes through a folder. Thread
// safe: it holds no state. Files appear by rename, so readers never see half of one; damaged ones
// are replaced.
class IndexCache {
 public:
  // An empty folder name: nothing is kept. `build`: of the program, where the folder outlives it;
  // another build may read the same code otherwise.
  explicit IndexCache(std::string folder, base::Digest build = {})
      : folder_(std::move(folder)), build_(build) {}

  // The index of what `device` would load from the image. kNotFound when nothing in it runs there.
  base::Result<std::unique_ptr<LoadedIndex>> Load(const FoundImage& image, Capability device) const;

 private:
  std::string PathFor(base::Digest key) const;
  std::unique_ptr<LoadedIndex> Find(base::Digest key) const;
  void Store(base::Digest key, Bytes block) const;

  std::string folder_;
  base::Digest build_;
};

}  // namespace eidolon::cubin
