# Headers of the standard library, and of GoogleTest for tests, are read by a compiler once for all sources instead of
# once for each: on g++ 12 that is 1.3 s of processor time a source, with clang and GoogleTest 2.7 s.
#
# Files still include what they use: preset dev compiles without, and e2e/checks/layers.py names what a header lacks.
option(EIDOLON_PRECOMPILE "Read headers of the standard library once for all sources" ON)

set(EIDOLON_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstring> <deque> <expected> <filesystem> <fstream>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
  <system_error> <thread> <tuple> <type_traits> <unordered_map> <unordered_set> <utility> <variant> <vector>)

# eidolon_precompiled(<name> [EXECUTABLE] [HEADERS ...] [OPTIONS ...] [DEPS ...]): headers for libraries, or for executables,
# that have these options.
function(eidolon_precompiled name)
  cmake_parse_arguments(ARG "EXECUTABLE" "" "HEADERS;OPTIONS;DEPS" ${ARGN})
  if(NOT EIDOLON_PRECOMPILE)
    return()
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// The target is there for its headers.\nint main() {}\n" @ONLY)
  if(ARG_EXECUTABLE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  target_link_libraries(${name} PRIVATE eidolon::options ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # With the times of headers in it, the file differs from build to build, and so does what the compiler's cache has of
    # all that begin with it.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${name} PRIVATE
    ${EIDOLON_PRECOMPILED_HEADERS} ${ARG_HEADERS})
endfunction()

# The target's C++ sources begin with the headers of eidolon_precompiled(<name>), if there is a name.
function(eidolon_use_precompiled target name)
  if(EIDOLON_PRECOMPILE AND name)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

if(EIDOLON_PRECOMPILE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # What templates of these headers call is not taken for a system header's then.
  target_compile_options(eidolon_options INTERFACE -Wno-deprecated-declarations)
endif()

# Each folder may choose others, or none.
set(EIDOLON_LIBRARY_HEADERS eidolon_library_headers)
set(EIDOLON_TEST_HEADERS eidolon_test_headers)
eidolon_precompiled(eidolon_library_headers OPTIONS ${EIDOLON_COVERED})
eidolon_precompiled(eidolon_command_headers OPTIONS ${EIDOLON_SELDOM_RUN} ${EIDOLON_COVERED})
find_package(GTest REQUIRED)
eidolon_precompiled(eidolon_test_headers EXECUTABLE
  HEADERS <gmock/gmock.h> <gtest/gtest.h> OPTIONS ${EIDOLON_SELDOM_RUN}
  DEPS    GTest::gmock GTest::gtest_main)
