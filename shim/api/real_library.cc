// A program asks the loader for a SONAME, and our facade of that name is loaded already, so the
// stock library has to be found by its path. The folders are those in which the loader would have
// searched for each loaded object (its run path, LD_LIBRARY_PATH, the system's), asked from the
// loader itself, and then those of NVIDIA's wheels. The major of CUDA follows from what loaded
// objects need, because both may be installed side by side. The loader's lock is held only while
// paths are copied, because everything else calls the loader again.
#include "shim/api/real_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
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

// The program's entries for an object's dynamic section; null when it has none.
const ElfW(Dyn) * DynamicSection(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type == PT_DYNAMIC) {
      return reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + header.p_vaddr);
    }
  }
  return nullptr;
}

bool Needs(const dl_phdr_info& info, std::string_view soname) {
  const ElfW(Dyn)* const entries = DynamicSection(info);
  if (entries == nullptr) return false;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  // The loader writes addresses here; the kernel's own object keeps offsets and needs nothing.
  if (strings == nullptr) return false;
  for (const ElfW(Dyn)* entry = entries; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && soname == strings + entry->d_un.d_val) return true;
  }
  return false;
}

// Returns where one loaded object looks for its needs: its run path, LD_LIBRARY_PATH, the system's
// folders.
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

// Loads the files of a folder whose names begin so. They stay loaded.
void LoadCompanions(const std::string& folder, std::string_view prefix) {
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->path().filename().native().starts_with(prefix)) {
      dlopen(file->path().c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }
}

// A path with a slash never matches a loaded SONAME, so our facade does not stand in the way.
void* LoadFrom(const std::vector<std::string>& folders, std::string_view soname,
               std::string_view companions) {
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + std::string(soname);
    if (access(path.c_str(), R_OK) != 0) continue;
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (!companions.empty()) LoadCompanions(folder, companions);
    return handle;
  }
  return nullptr;
}

// Returns where NVIDIA's wheels put libraries, beside the packages that loaded objects came from.
// Programs such as CuPy name no run path: they look there themselves, but find our facade loaded
// already.
std::vector<std::string> WheelFolders(const std::vector<std::string>& objects) {
  std::vector<std::string> folders;
  for (const std::string& object : objects) {
    for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = object.find(packages);
      if (at == std::string::npos) continue;
      const std::string root = object.substr(0, at + packages.size());
      for (const char* folder :
           {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/nvjitlink/lib"}) {
        folders.push_back(root + folder);
      }
    }
  }
  std::ranges::sort(folders);
  const auto repeated = std::ranges::unique(folders);
  folders.erase(repeated.begin(), repeated.end());
  return folders;
}

}  // namespace

bool IsNeeded(const std::string& soname) {
  struct Search {
    std::string_view soname;
    bool found = false;
  } search{soname};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto& wanted = *static_cast<Search*>(out);
        wanted.found = Needs(*info, wanted.soname);
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

void* RealLibrary::Load() noexcept {
  try {
    const bool older = !IsNeeded("libcudart.so.13") && IsNeeded("libcudart.so.12");
    const char* const soname = sonames_[older ? 1 : 0];
    const std::vector<std::string> objects = LoadedObjects();
    for (const std::string& object : objects) {
      void* handle = LoadFrom(SearchFolders(object), soname, companions_);
      if (handle != nullptr) return handle;
    }
    // Nothing says which major a program with a static runtime is of; its wheels do.
    const std::vector<std::string> wheels = WheelFolders(objects);
    void* const handle = LoadFrom(wheels, soname, companions_);
    return handle != nullptr ? handle : LoadFrom(wheels, sonames_[older ? 0 : 1], companions_);
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
