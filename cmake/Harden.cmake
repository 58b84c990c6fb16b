# What makes a defect in memory end a process instead of being used: eidolon_hardening carries it for all code of ours
# and for generated code. e2e/checks/hardening.py reads it back from what was linked.
#
# Off where a sanitizer looks for the same and more, and where nothing is optimised, as _FORTIFY_SOURCE asks for.
option(EIDOLON_HARDEN "Stack protector, _FORTIFY_SOURCE, assertions of libstdc++, CET, full RELRO" ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C CXX)

add_library(eidolon_hardening INTERFACE)
add_library(eidolon::hardening ALIAS eidolon_hardening)
if(EIDOLON_HARDEN AND NOT EIDOLON_SANITIZE)
  # Property EIDOLON_UNFORTIFIED: of libraries that define functions of libc, which the headers would define inline too.
  # Property EIDOLON_LAUNCH_PATH: of the code that every call runs through, where stack protector and assertions cost 7 %
  # more instructions (403 for 378 of launch_bench's EnterAndAppend). It runs in the user's process, which may write
  # over its memory anyway; the agent checks every record.
  target_compile_options(eidolon_hardening INTERFACE
    $<IF:$<BOOL:$<TARGET_PROPERTY:EIDOLON_LAUNCH_PATH>>,-fno-stack-protector,-fstack-protector-strong> -fcf-protection=full
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:EIDOLON_UNFORTIFIED>>>:-D_FORTIFY_SOURCE=3>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:EIDOLON_LAUNCH_PATH>>>>:-D_GLIBCXX_ASSERTIONS>)
  target_link_options(eidolon_hardening INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
