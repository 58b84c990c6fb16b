# One call per folder: a static library, its header check and its tests.
#
#   eidolon_library(network_flow
#     HEADERS fair_share.h link.h
#     SOURCES fair_share.cc link.cc
#     DEPS    eidolon::base eidolon::network_engine
#     TESTS   fair_share_test.cc link_test.cc)
#
# Target eidolon_<name>, alias eidolon::<name>; objects of the tests <name>_test, which the room's program links.
# TEST_DEPS adds libraries that only the tests need. ALONE names sources with compile options of their own. The thread
# sanitizer's preset has the tests of libraries that start threads or wait for them, or whose tests do.
#
# That each header includes what it needs is checked by e2e/checks/headers.py: compiling sources together does not show it.
find_package(GTest REQUIRED)
find_package(benchmark QUIET)
include(GoogleTest)

# Seconds for one test. Sanitizers slow a test down by up to twenty times.
set(EIDOLON_TEST_TIMEOUT 120)
if(EIDOLON_SANITIZE)
  set(EIDOLON_TEST_TIMEOUT 300)
  find_program(EIDOLON_ADDR2LINE addr2line REQUIRED)
  add_library(eidolon_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/sanitizer_options.cc)
  target_compile_definitions(eidolon_sanitizer_options PRIVATE EIDOLON_ADDR2LINE="${EIDOLON_ADDR2LINE}")
endif()

configure_file(${CMAKE_SOURCE_DIR}/cmake/source_tree.h.in ${CMAKE_BINARY_DIR}/generated/source_tree.h @ONLY)

# What the sanitizer presets build: no commands, benchmarks or facades that no test needs.
add_custom_target(unit_tests)
add_custom_target(fuzzers)
# What `eidolon bench` runs.
add_custom_target(benchmarks)

# Compiles the sources of a library a few at a time as one: two thirds of a compiler's work here are headers that
# most of them include. So names in unnamed namespaces are unique within a library, and within its tests. Includes
# are relative to the tree, so that checkouts in other folders share the compiler's cache. CMake's own UNITY_BUILD writes
# absolute ones.
# `alone`: sources with flags of their own. What is generated is left alone too, and the shim's exports, whose macros
# would go on in the next source. `most`: how many become one; few where a program waits for the last of them.
function(eidolon_compile_together sources most alone)
  set(kept)
  set(together)
  foreach(source ${${sources}})
    if(source IN_LIST alone OR IS_ABSOLUTE ${source} OR source MATCHES "^exports")
      list(APPEND kept ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  while(together)
    list(SUBLIST together 0 ${most} batch)
    list(REMOVE_ITEM together ${batch})
    # A header that gave its name to all would not be compiled, nor would they.
    set(first)
    foreach(source ${batch})
      if(NOT first AND NOT source MATCHES "\\.h$")
        set(first ${source})
      endif()
    endforeach()
    if(NOT first)
      list(APPEND kept ${batch})
      continue()
    endif()
    set(text)
    foreach(source ${batch})
      string(APPEND text "#include \"${folder}/${source}\"\n")
    endforeach()
    set(path ${CMAKE_BINARY_DIR}/together/${folder}/${first})
    file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # It takes a source that is included for a header.
      set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
    endif()
    list(APPEND kept ${path})
  endwhile()
  set(${sources} ${kept} PARENT_SCOPE)
endfunction()

# Whether one of the files starts threads or waits for them: only then can something race. A mutex or an atomic alone may
# belong to a library that others call from several threads; in its own tests there is one.
set(EIDOLON_THREADS "#include (<(thread|shared_mutex|condition_variable|stop_token|latch|barrier|future|semaphore|grpcpp/|httplib|pthread)|\"shim/core/fake_agent.h)")
function(eidolon_find_threads result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(file ${ARGN})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${file} found REGEX "${EIDOLON_THREADS}" LIMIT_COUNT 1)
      if(found)
        set(${result} TRUE PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

function(eidolon_library name)
  cmake_parse_arguments(ARG "" "" "HEADERS;SOURCES;ALONE;DEPS;TESTS;TEST_DEPS" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "eidolon_library(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(target eidolon_${name})
  eidolon_find_threads(threads ${ARG_HEADERS} ${ARG_SOURCES} ${ARG_TESTS})
  if(EIDOLON_SANITIZE STREQUAL "thread" AND NOT threads)
    set(ARG_TESTS)
  endif()
  if(ARG_SOURCES)
    if(EIDOLON_UNITY)
      eidolon_compile_together(ARG_SOURCES 12 "${ARG_ALONE}")
    endif()
    add_library(${target} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE eidolon::options)
    target_compile_options(${target} PRIVATE ${EIDOLON_COVERED})
    eidolon_use_precompiled(${target} "${EIDOLON_LIBRARY_HEADERS}")
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(eidolon::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} ${scope} ${ARG_DEPS})
  if(ARG_HEADERS)
    target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HEADERS})
  endif()
  if(ARG_TESTS)
    set(has_threads)
    if(threads)
      set(has_threads THREADS)
    endif()
    eidolon_test(${name}_test SOURCES ${ARG_TESTS} DEPS eidolon::${name} ${ARG_TEST_DEPS} ${has_threads})
  endif()
endfunction()

# eidolon_test(<name> SOURCES ... DEPS ... [OWN_PROGRAM] [THREADS]): GoogleTest cases that ctest knows one by one.
#
# They are compiled as objects, which the test program of the folder's room links (Rooms.cmake). CTest runs each case in a
# process of its own, so cases of a room may need different processes. OWN_PROGRAM is for what is decided before main: by a
# constructor of the test, by a function of libc that it replaces, or by a library that is linked whole. THREADS: what is
# tested has threads, even if the sources of the test have none.
function(eidolon_test name)
  cmake_parse_arguments(ARG "OWN_PROGRAM;THREADS" "" "SOURCES;DEPS" ${ARGN})
  eidolon_find_room(room)
  eidolon_find_threads(threads ${ARG_SOURCES})
  if(ARG_THREADS)
    set(threads TRUE)
  endif()
  if(EIDOLON_UNITY_TESTS)
    eidolon_compile_together(ARG_SOURCES 12 "")
  endif()
  set(compiled ${ARG_SOURCES})
  list(FILTER compiled EXCLUDE REGEX "\\.h$")
  if(NOT compiled)
    message(FATAL_ERROR "${name}: none of its sources would be compiled, so that it had no test")
  endif()
  if(ARG_OWN_PROGRAM)
    add_executable(${name} ${ARG_SOURCES})
  else()
    eidolon_test_objects(${name} ${ARG_SOURCES})
    set_property(GLOBAL APPEND PROPERTY EIDOLON_TESTS_OF_${room} ${name})
    if(threads)
      set_property(GLOBAL PROPERTY EIDOLON_THREADS_IN_${room} TRUE)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE eidolon::options ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${EIDOLON_SELDOM_RUN})
  eidolon_use_precompiled(${name} "${EIDOLON_TEST_HEADERS}")
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  if(ARG_OWN_PROGRAM)
    eidolon_test_program(${name} ${room} ${threads})
  endif()
endfunction()

# eidolon_binary(<name> SOURCES ... DEPS ...): an executable in <build>/bin.
function(eidolon_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(EIDOLON_UNITY)
    eidolon_compile_together(ARG_SOURCES 6 "")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE eidolon::options ${ARG_DEPS})
endfunction()

# eidolon_fuzzer(<name> SOURCES ... DEPS ...): a libFuzzer binary in <build>/fuzz, only with
# EIDOLON_FUZZ (clang). Its corpus is the folder <name>_corpus beside the source. e2e/fuzz runs them all, and finds the
# corpora by what is written here.
function(eidolon_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT EIDOLON_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE eidolon::options ${ARG_DEPS}
                        $<TARGET_NAME_IF_EXISTS:eidolon_sanitizer_options>)
  target_compile_options(${name} PRIVATE ${EIDOLON_COVERED})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzzers ${name})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fuzz/${name}.corpus
       CONTENT "${CMAKE_CURRENT_SOURCE_DIR}/${name}_corpus\n" @ONLY)
endfunction()

# eidolon_benchmark(<name> SOURCES ... DEPS ...): a Google Benchmark binary in <build>/bench.
function(eidolon_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT benchmark_FOUND)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE eidolon::options ${ARG_DEPS} benchmark::benchmark_main)
  add_dependencies(benchmarks ${name})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()
