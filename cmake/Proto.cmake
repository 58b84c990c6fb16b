# eidolon_proto(<name> PROTOS a.proto ... [GRPC] DEPS ...): C++ of protocol buffers; target
# eidolon::proto_<name>. Generated headers are included as "eidolon/<service>/v1/<file>.pb.h".
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
find_program(EIDOLON_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

function(eidolon_proto name)
  cmake_parse_arguments(ARG "GRPC" "" "PROTOS;DEPS" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/proto)
  set(generated)
  foreach(proto ${ARG_PROTOS})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    set(files ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(grpc_flags)
    if(ARG_GRPC)
      list(APPEND files ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      set(grpc_flags --grpc_out=${out} --plugin=protoc-gen-grpc=${EIDOLON_GRPC_PLUGIN})
    endif()
    file(MAKE_DIRECTORY ${out})
    add_custom_command(OUTPUT ${files}
      COMMAND protobuf::protoc -I ${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${out} ${grpc_flags} ${proto}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} VERBATIM)
    list(APPEND generated ${files})
  endforeach()
  add_library(eidolon_proto_${name} STATIC ${generated})
  add_library(eidolon::proto_${name} ALIAS eidolon_proto_${name})
  target_include_directories(eidolon_proto_${name} SYSTEM PUBLIC ${out})
  target_link_libraries(eidolon_proto_${name} PUBLIC protobuf::libprotobuf ${ARG_DEPS})
  if(ARG_GRPC)
    target_link_libraries(eidolon_proto_${name} PUBLIC PkgConfig::GRPCPP)
  endif()
  if(EIDOLON_SANITIZE)
    # Undefined behaviour within what the generator wrote is not ours; its inline functions are checked where we call them.
    string(REPLACE "address,undefined" "address" sanitizers ${EIDOLON_SANITIZE})
    target_compile_options(eidolon_proto_${name} PRIVATE -fsanitize=${sanitizers})
  endif()
endfunction()
