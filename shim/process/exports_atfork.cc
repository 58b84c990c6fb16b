// What libraries run in a child of fork, of which some is not for a child that goes on
// (next_program.h). PyTorch's notes that its CUDA cannot be used any more: it is passed over. That of
// libuv, inside of libtorch_cpu, opens pipes, whose numbers it keeps: it comes when the descriptors
// of the process that forked are closed.
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
struct Entry {
  std::atomic<Handler> handler{nullptr};
  std::atomic<bool> comes_later{false};
};
constinit std::array<Entry, kHandlers> handlers{};
constinit std::atomic<std::size_t> handler_count{0};

template <std::size_t Number>
void RunUnlessItGoesOn() {
  if (!eidolon::shim::process::IsForkedToGoOn()) handlers[Number].handler.load()();
}

template <std::size_t... Numbers>
constexpr std::array<Handler, kHandlers> Stands(std::index_sequence<Numbers...>) {
  return {&RunUnlessItGoesOn<Numbers>...};
}
constexpr auto kStands = Stands(std::make_index_sequence<kHandlers>());

bool IsOf(std::string_view library, void* object) {
  Dl_info found{};
  return dladdr(object, &found) != 0 && found.dli_fname != nullptr &&
         std::string_view(found.dli_fname).find(library) != std::string_view::npos;
}

// The handler to register for this one.
Handler StandFor(Handler child) {
  void* const place = reinterpret_cast<void*>(child);
  const bool comes_later = IsOf("libtorch_cpu", place);
  if (!comes_later && !IsOf("libtorch_python", place)) return child;
  const std::size_t number = handler_count.fetch_add(1);
  if (number >= kHandlers) return child;
  handlers[number].handler.store(child);
  handlers[number].comes_later.store(comes_later);
  return kStands[number];
}

}  // namespace

void eidolon::shim::process::RunLateForkHandlers() noexcept {
  for (const Entry& entry : handlers) {
    if (entry.comes_later.load()) entry.handler.load()();
  }
}

extern "C" __attribute__((visibility("default"))) int __register_atfork(Handler prepare,
                                                                        Handler parent,
                                                                        Handler child,
                                                                        void* object) noexcept {
  using Function = int (*)(Handler, Handler, Handler, void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "__register_atfork"));
  if (child != nullptr && core::IsTorchrun()) child = StandFor(child);
  return next(prepare, parent, child, object);
}
