# The rooms of the tests: folders whose cases are linked into one program, <build>/tests/<room>_tests.
#
# A folder belongs to the room that names it or the nearest folder above it. Folders that link gRPC have rooms of their
# own: loading its sixty libraries takes longer than most cases do. Two folders that give different fixtures
# the same name are in different rooms, because GoogleTest rejects that within a program.
set(EIDOLON_ROOMS
  base            services/base services/contract services/runtime/process services/testing
  code            services/contract/cudnn_numbers services/contract/torch_layout services/machine_code
  interpret       services/machine_code/interpret
  runtime         services/runtime
  timing          services/timing/count services/timing/fit services/timing/gpu_model services/timing/kernel
                  services/timing/measure services/timing/model services/timing/profile services/timing/replay
  timing_service  services/timing
  network         services/network
  network_service services/network/serving
  agent           services/agent
  agent_session   services/agent/cost services/agent/job services/agent/outcome services/agent/session
                  services/agent/timeline
  agent_server    services/agent/client services/agent/server
  controller      services/controller
  controller_http services/controller/http services/controller/kube services/controller/rest
  controller_host services/controller/agents services/controller/embedded services/controller/kube_host
  cli             services/cli
  shim_core       shim/core shim/program/host_time
  shim_compute    shim/value/compute
  shim_gpu        shim/gpu shim/pytorch shim/value
  shim_cuda       shim/api shim/vendor/cuda_driver shim/vendor/cuda_runtime shim/vendor/cuda_runtime_12 shim/vendor/nvml
  shim_libraries  shim/pytorch/gloo shim/vendor
  # These replace calls of libc in the whole program.
  shim_cupti      shim/vendor/cupti
  shim_process    shim/program/channel shim/program/process
  shim_time       shim/program/time)

foreach(item ${EIDOLON_ROOMS})
  if(item MATCHES "/")
    set(EIDOLON_ROOM_OF_${item} ${room})
  else()
    set(room ${item})
  endif()
endforeach()

function(eidolon_find_room result)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(path ${folder})
  while(path)
    if(DEFINED EIDOLON_ROOM_OF_${path})
      set(${result} ${EIDOLON_ROOM_OF_${path}} PARENT_SCOPE)
      return()
    endif()
    cmake_path(GET path PARENT_PATH path)
  endwhile()
  message(FATAL_ERROR "${folder} has tests but no room: name it in cmake/Rooms.cmake")
endfunction()

# An object library that is compiled with the options of an executable, in the same order: it uses the precompiled headers
# of tests, and shares the compiler's cache with programs.
function(eidolon_test_objects name)
  set(options ${CMAKE_CXX_COMPILE_OPTIONS_PIE})
  if(CMAKE_CXX_VISIBILITY_PRESET)
    list(APPEND options ${CMAKE_CXX_COMPILE_OPTIONS_VISIBILITY}${CMAKE_CXX_VISIBILITY_PRESET})
  endif()
  if(CMAKE_VISIBILITY_INLINES_HIDDEN)
    list(APPEND options ${CMAKE_CXX_COMPILE_OPTIONS_VISIBILITY_INLINES_HIDDEN})
  endif()
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  unset(CMAKE_CXX_VISIBILITY_PRESET)
  unset(CMAKE_VISIBILITY_INLINES_HIDDEN)
  add_library(${name} OBJECT ${ARGN})
  target_compile_options(${name} BEFORE PRIVATE ${options})
endfunction()

# Makes ctest know the cases of a test program one by one, each with the labels of its room.
function(eidolon_test_program program room threads)
  target_link_libraries(${program} PRIVATE
    eidolon::options GTest::gmock GTest::gtest_main $<TARGET_NAME_IF_EXISTS:eidolon_sanitizer_options>)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_dependencies(unit_tests ${program})
  gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests PROPERTIES TIMEOUT ${EIDOLON_TEST_TIMEOUT})
  # ctest reads this after the cases, whose names are in <program>_TESTS. What discovers them loses all labels but the first.
  set(labels unit room:${room})
  if(threads)
    list(APPEND labels threads)
  endif()
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${program}_labels.cmake)
  file(CONFIGURE OUTPUT ${script} @ONLY CONTENT "if(@program@_TESTS)
  set_tests_properties(\${@program@_TESTS} PROPERTIES LABELS \"@labels@\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()

# Links the programs, when all folders have named their tests.
function(eidolon_link_rooms)
  foreach(room ${EIDOLON_ROOMS})
    get_property(tests GLOBAL PROPERTY EIDOLON_TESTS_OF_${room})
    if(tests)
      add_executable(${room}_tests)
      target_link_libraries(${room}_tests PRIVATE ${tests})
      set_target_properties(${room}_tests PROPERTIES LINKER_LANGUAGE CXX)
      # What a test needs when it runs, such as a fake driver, is built with its program, not with its objects.
      foreach(test ${tests})
        get_target_property(needs ${test} MANUALLY_ADDED_DEPENDENCIES)
        if(needs)
          add_dependencies(${room}_tests ${needs})
        endif()
      endforeach()
      get_property(threads GLOBAL PROPERTY EIDOLON_THREADS_IN_${room})
      eidolon_test_program(${room}_tests ${room} "${threads}")
    endif()
  endforeach()
endfunction()
