// Turns generated rows (<library>.inc) into exported functions. Included by each library's
// exports.cc only, after the vendor's headers, its handlers and its specialisations of Codes. In
// addition:
//   #define SHIM_HANDLERS   the namespace of the library's handlers, from the root
//   #define SHIM_REAL       with FORWARD rows: the library's RealLibrary
//   #define SHIM_TELLS_ARGUMENTS   where observers of calls see their parameters
//   #define SHIM_STATUS     the library's status type, the answer of undocumented functions
//
// The vendor's headers declare the same functions, so a row with a wrong type does not compile.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "services/contract/ring/layout.h"
#include "shim/api/real_library.h"
#include "shim/core/enter.h"

namespace eidolon::shim::api {

// The vendor's codes for one return type. Every enumeration that a library returns has a
// specialisation; other types (pointers, numbers, structures) answer with their zero.
template <typename Return>
struct Codes {
  static_assert(!std::is_enum_v<Return>, "specialise Codes for this status type");
  static constexpr Return kSuccess{};
  static constexpr Return kFailure{};
  static constexpr Return kNotSupported{};
};

// Strings are printed by those who ask, so even a refusal is one.
template <>
struct Codes<const char*> {
  static constexpr const char* kSuccess = "";
  static constexpr const char* kFailure = "unknown error";
  static constexpr const char* kNotSupported = "not supported on a simulated GPU";
};

// Writes the values that it is called with behind each other, as C lays out a structure.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(std::span<std::byte> out) : out_(out) {}
  template <typename... Values>
  void operator()(const Values&... values) {
    (Write(values), ...);
  }

 private:
  template <typename Value>
  void Write(const Value& value) {
    at_ = (at_ + alignof(Value) - 1) / alignof(Value) * alignof(Value);
    if (at_ + sizeof(value) > out_.size()) return;
    std::memcpy(out_.data() + at_, &value, sizeof(value));
    at_ += sizeof(value);
  }

  std::span<std::byte> out_;
  std::size_t at_ = 0;
};

// Calls that return nothing need a value to carry through Enter.
template <typename Return, typename Body, typename Write>
Return Answer(const char* name, ring::CallClass call_class, Body&& body,
              const Write& write) noexcept {
  const core::CallArguments arguments{&write, [](const void* self, std::span<std::byte> out) {
                                        (*static_cast<const Write*>(self))(out);
                                      }};
  if constexpr (std::is_void_v<Return>) {
    core::Enter(
        name, call_class, 0,
        [&body] {
          body();
          return 0;
        },
        &arguments);
  } else {
    return core::Enter(name, call_class, Codes<Return>::kFailure, body, &arguments);
  }
}

template <typename Return>
Return Refuse(const char* name) noexcept {
  if constexpr (std::is_void_v<Return>) {
    core::CountRefusal(name);
  } else {
    return core::Rejected(name, Codes<Return>::kNotSupported);
  }
}

template <typename Return>
Return Accept() noexcept {
  if constexpr (!std::is_void_v<Return>) return Codes<Return>::kSuccess;
}

}  // namespace eidolon::shim::api

#define SHIM_EXPORT extern "C" __attribute__((visibility("default")))
#define SHIM_CLASS(call_class) ::eidolon::ring::CallClass::k##call_class
// Writes a call's parameters: a captureless function, which does nothing where no tool ever reads
// them.
#ifdef SHIM_TELLS_ARGUMENTS
#define SHIM_WRITE(args) \
  [&](std::span<std::byte> shim_out) { ::eidolon::shim::api::ArgumentWriter{shim_out} args; }
#else
#define SHIM_WRITE(args) [](std::span<std::byte>) {}
#endif

// SIMULATE: our function answers. BARE: without Enter, for calls that programs make in constructors
// or by the thousand before main; their handlers are noexcept and touch no session. PER_THREAD: the
// variant for programs compiled with per-thread default streams.
#define SIMULATE(ret, name, call_class, handler, params, args)                               \
  SHIM_EXPORT ret name params {                                                              \
    return ::eidolon::shim::api::Answer<ret>(                                                \
        #name, SHIM_CLASS(call_class), [&]() -> ret { return SHIM_HANDLERS::handler args; }, \
        SHIM_WRITE(args));                                                                   \
  }
#define SIMULATE_BARE(ret, name, call_class, handler, params, args) \
  SHIM_EXPORT ret name params { return SHIM_HANDLERS::handler args; }
#define SIMULATE_PER_THREAD(ret, name, call_class, handler, params, args)                    \
  SHIM_EXPORT ret name params {                                                              \
    const ::eidolon::shim::gpu::PerThreadDefault scope;                                      \
    return ::eidolon::shim::api::Answer<ret>(                                                \
        #name, SHIM_CLASS(call_class), [&]() -> ret { return SHIM_HANDLERS::handler args; }, \
        SHIM_WRITE(args));                                                                   \
  }
#define SIMULATE_BARE_PER_THREAD(ret, name, call_class, handler, params, args) \
  SHIM_EXPORT ret name params {                                                \
    const ::eidolon::shim::gpu::PerThreadDefault scope;                        \
    return SHIM_HANDLERS::handler args;                                        \
  }

// ACCEPT: success, and nothing to do (the policy says why).
#define ACCEPT(ret, name, call_class, params)                                         \
  SHIM_EXPORT ret name params {                                                       \
    return ::eidolon::shim::api::Answer<ret>(                                         \
        #name, SHIM_CLASS(call_class),                                                \
        []() -> ret { return ::eidolon::shim::api::Accept<ret>(); }, SHIM_WRITE(())); \
  }

// FORWARD: the real library answers, found by the RealLibrary that SHIM_REAL names. No Enter: its
// work is the program's own.
#define FORWARD(ret, name, params, args)                                             \
  SHIM_EXPORT ret name params {                                                      \
    auto* const real = ::eidolon::shim::api::FindReal<ret params>(SHIM_REAL, #name); \
    if (real == nullptr) return ::eidolon::shim::api::Refuse<ret>(#name);            \
    return real args;                                                                \
  }

// REJECT: the vendor's not-supported code, counted and reported. UNDECLARED: the same for functions
// of the real library that no header declares; their parameters are unknown and not looked at.
// Headers may have redirected such a name with a macro, hence the assembler name.
#define REJECT(ret, name, params) \
  SHIM_EXPORT ret name params { return ::eidolon::shim::api::Refuse<ret>(#name); }
#define UNDECLARED(name)                                      \
  SHIM_EXPORT SHIM_STATUS undeclared_##name() __asm__(#name); \
  SHIM_EXPORT SHIM_STATUS undeclared_##name() {               \
    return ::eidolon::shim::api::Refuse<SHIM_STATUS>(#name);  \
  }

// Refused functions do not use their parameters, and old functions are exported on purpose.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
