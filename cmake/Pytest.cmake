# Adds files of Python tests outside of e2e as one test, which e2e/pytest runs on this build, with the fixtures of e2e.
#
#   eidolon_pytest(NAME shim.torch FILES test_torch.py)
function(eidolon_pytest)
  cmake_parse_arguments(arg "" NAME FILES ${ARGN})
  list(TRANSFORM arg_FILES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_test(NAME ${arg_NAME} COMMAND ${CMAKE_SOURCE_DIR}/e2e/pytest -p conftest ${arg_FILES}
    --build ${CMAKE_BINARY_DIR} --python ${EIDOLON_PYTHON_PACKAGES}/../../..)
endfunction()
