# eidolon_options carries standard, warnings, hardening and sanitizers for our own code.
include(CheckLinkerFlag)

add_library(eidolon_options INTERFACE)
add_library(eidolon::options ALIAS eidolon_options)
target_compile_features(eidolon_options INTERFACE cxx_std_23)
target_link_libraries(eidolon_options INTERFACE eidolon::hardening)
target_compile_options(eidolon_options INTERFACE
  -pthread -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wcast-align -Woverloaded-virtual
  -Wnull-dereference -Wvla -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives of these from inside the standard library when it inlines.
  target_compile_options(eidolon_options INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-null-dereference -Wno-stringop-overflow
    -Wno-array-bounds -Wno-dangling-pointer)
endif()
if(EIDOLON_WERROR)
  target_compile_options(eidolon_options INTERFACE -Werror)
endif()
if(EIDOLON_SANITIZE)
  target_compile_options(eidolon_options INTERFACE
    -fsanitize=${EIDOLON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  if(EIDOLON_SANITIZE MATCHES "address")
    # Reads and writes beyond an object are the address sanitizer's; a fifth of a compiler's work here.
    target_compile_options(eidolon_options INTERFACE -fno-sanitize=object-size)
  endif()
  target_link_options(eidolon_options INTERFACE -fsanitize=${EIDOLON_SANITIZE})
endif()
check_linker_flag(CXX -fuse-ld=mold EIDOLON_HAVE_MOLD)
if(EIDOLON_HAVE_MOLD)
  target_link_options(eidolon_options INTERFACE -fuse-ld=mold)
endif()

# For code that a run spends no time in: the compiler takes two thirds of the time of -O3.
set(EIDOLON_SELDOM_RUN $<$<CONFIG:Release>:-O1>)
if(EIDOLON_SANITIZE)
  set(EIDOLON_SELDOM_RUN -O0)
endif()

# What the fuzzers look at: the branches of libraries, not of tests.
set(EIDOLON_COVERED)
if(EIDOLON_FUZZ)
  set(EIDOLON_COVERED -fsanitize=fuzzer-no-link)
endif()
