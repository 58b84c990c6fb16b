#include "services/timing/measure/module_store.h"

#include <cstdio>
#include <cstring>
#include <fstream>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/text.h"

namespace eidolon::timing::measure {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

std::string HashOf(std::string_view code) {
  const base::Digest digest = base::Hash128(code.data(), code.size());
  std::string hash(16, '\0');
  std::memcpy(hash.data(), &digest.high, 8);
  std::memcpy(hash.data() + 8, &digest.low, 8);
  return hash;
}

}  // namespace

bool ModuleStore::Has(const std::string& hash) const {
  const std::lock_guard lock(modules_mutex_);
  return modules_.contains(hash);
}

std::string ModuleStore::FileOf(const std::string& hash) const {
  return StrCat(folder_, "/", base::Hex(hash), ".code");
}

Result<void> ModuleStore::Add(const std::string& hash, std::string_view code) {
  if (hash != HashOf(code)) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("module: its ", code.size(), " bytes do not have its hash"));
  }
  const std::lock_guard lock(modules_mutex_);
  if (modules_.contains(hash)) return {};
  if (bytes_ + code.size() > bytes_max_) {
    return base::Fail(ErrorCode::kResourceExhausted,
                      StrCat("modules take ", bytes_, " of at most ", bytes_max_, " bytes"));
  }
  const std::string file = FileOf(hash);
  std::ofstream out(file, std::ios::binary);
  out.write(code.data(), static_cast<std::streamsize>(code.size()));
  out.close();
  if (!out) {
    std::remove(file.c_str());
    return base::Fail(ErrorCode::kUnavailable, StrCat("cannot write '", file, "'"));
  }
  modules_.insert(hash);
  bytes_ += code.size();
  return {};
}

}  // namespace eidolon::timing::measure
