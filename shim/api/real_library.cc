#include "shim/api/real_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::shim::api {
namespace {

// Paths of all loaded objects. The loader's lock is held while it runs, so it only copies.
std::vector<std::string> LoadedObjects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &paths);
  return paths;
}

// Where one loaded object looks for its needs: its run path, LD_LIBRARY_PATH, the system's folders.
std::vector<std::string> SearchFolders(const std::string& object) {
  std::vector<std::string> folders;
  void* handle = dlopen(object.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return folders;
  Dl_serinfo size;
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    const std::unique_ptr<std::byte[]> memory(new std::byte[size.dls_size]);
    auto* info = new (memory.get()) Dl_serinfo(size);
    if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      const Dl_serpath* paths = info->dls_serpath;
      for (unsigned i = 0; i < info->dls_cnt; ++i) folders.emplace_back(paths[i].dls_name);
    }
  }
  dlclose(handle);
  return folders;
}

// A path with a slash never matches a loaded SONAME, so our facade does not stand in the way.
void* LoadFrom(const std::vector<std::string>& folders, std::string_view soname) {
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + std::string(soname);
    if (access(path.c_str(), R_OK) != 0) continue;
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) return handle;
  }
  return nullptr;
}

}  // namespace

void* RealLibrary::Load() noexcept {
  try {
    for (const std::string& object : LoadedObjects()) {
      void* handle = LoadFrom(SearchFolders(object), soname_);
      if (handle != nullptr) return handle;
    }
  } catch (...) {  // Out of memory: the call is refused.
  }
  return nullptr;
}

void* RealLibrary::Find(const char* function) noexcept {
  void* handle = handle_.load(std::memory_order_acquire);
  if (handle == nullptr) {
    handle = Load();  // Twice by two threads is harmless: the loader counts.
    if (handle == nullptr) return nullptr;
    handle_.store(handle, std::memory_order_release);
  }
  return dlsym(handle, function);
}

}  // namespace eidolon::shim::api
