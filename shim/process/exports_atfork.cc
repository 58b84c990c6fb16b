// What libraries run in a child of fork. PyTorch's notes that its CUDA cannot be used there any more, which is
// not so in a child that goes on (next_program.h): there it is passed over.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

#include "shim/core/launcher.h"
#include "shim/process/next_program.h"

namespace core = eidolon::shim::core;
using Handler = void (*)();

namespace {

constexpr std::size_t kHandlers = 16;  // PyTorch has one for each kind of device.
constinit std::array<std::atomic<Handler>, kHandlers> handlers{};
constinit std::atomic<std::size_t> handler_count{0};

template <std::size_t Number>
void RunUnlessItGoesOn() {
  if (!eidolon::shim::process::IsForkedToGoOn()) handlers[Number].load()();
}

template <std::size_t... Numbers>
constexpr std::array<Handler, kHandlers> Stands(std::index_sequence<Numbers...>) {
  return {&RunUnlessItGoesOn<Numbers>...};
}
constexpr auto kStands = Stands(std::make_index_sequence<kHandlers>());

bool IsOfTorch(void* object) {
  Dl_info found{};
  return dladdr(object, &found) != 0 && found.dli_fname != nullptr &&
         std::string_view(found.dli_fname).find("libtorch_python") != std::string_view::npos;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __register_atfork(Handler prepare,
                                                                        Handler parent,
                                                                        Handler child,
                                                                        void* object) noexcept {
  using Function = int (*)(Handler, Handler, Handler, void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "__register_atfork"));
  if (child != nullptr && core::IsTorchrun() && IsOfTorch(reinterpret_cast<void*>(child))) {
    const std::size_t number = handler_count.fetch_add(1);
    if (number < kHandlers) {
      handlers[number].store(child);
      child = kStands[number];
    }
  }
  return next(prepare, parent, child, object);
}
