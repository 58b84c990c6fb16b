// Filters the functions that libraries run in a child of fork, some of which are not for a child
// that goes on (next_program.h). PyTorch's notes that its CUDA cannot be used any more: it is
// passed over. That of libuv, inside of libtorch_cpu, closes and opens a pipe of its own, which
// exec would have closed and whose numbers are others' in a process that has gone on: it is never
// run there.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EIDOLON_THREAD_SANITIZER 1  // Registers handlers before code that it watches may run.
#endif
#endif
#ifndef EIDOLON_THREAD_SANITIZER

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

#include "shim/core/launcher.h"
#include "shim/core/session.h"
#include "shim/program/process/next_program.h"

namespace core = eidolon::shim::core;
namespace process = eidolon::shim::process;
using Handler = void (*)();

namespace {

constexpr std::size_t kHandlers = 16;  // PyTorch has one for each kind of device.
struct Entry {
  std::atomic<Handler> handler{nullptr};
  std::atomic<bool> ends_with_torchrun{false};
};
constinit std::array<Entry, kHandlers> handlers{};
constinit std::atomic<std::size_t> handler_count{0};

template <std::size_t Number>
void RunUnlessItGoesOn() {
  const Entry& entry = handlers[Number];
  // Whatever torchrun asked of CUDA is not the rank's.
  const bool ended =
      process::HasGoneOn() && (entry.ends_with_torchrun.load() || !core::Session::WasWanted());
  if (!process::IsForkedToGoOn() && !ended) entry.handler.load()();
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
  const bool ends_with_torchrun = IsOf("libtorch_cpu", place);
  if (!ends_with_torchrun && !IsOf("libtorch_python", place)) return child;
  const std::size_t number = handler_count.fetch_add(1);
  if (number >= kHandlers) return child;
  handlers[number].handler.store(child);
  handlers[number].ends_with_torchrun.store(ends_with_torchrun);
  return kStands[number];
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __register_atfork(Handler prepare,
                                                                        Handler parent,
                                                                        Handler child,
                                                                        void* object) noexcept {
  using Function = int (*)(Handler, Handler, Handler, void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "__register_atfork"));
  if (child != nullptr && core::IsTorchrun()) child = StandFor(child);
  return next(prepare, parent, child, object);
}

#endif
