# The vendor headers, as the stock wheels install them. Nothing is linked: the shim replaces the libraries.
if(NOT EIDOLON_PYTHON_PACKAGES)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/e2e/environment packages
                  OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "e2e/environment failed, so there are no CUDA headers. Set EIDOLON_PYTHON_PACKAGES to "
                        "a site-packages that has them, or configure with -DEIDOLON_SHIM=OFF.")
  endif()
  set(EIDOLON_PYTHON_PACKAGES ${packages} CACHE PATH "site-packages with the CUDA headers" FORCE)
endif()
set(nvidia ${EIDOLON_PYTHON_PACKAGES}/nvidia)
foreach(header cu13/include/cuda.h cu13/include/cuda_runtime_api.h cu13/include/crt/host_defines.h
               cu13/include/nvml.h cudnn/include/cudnn.h nccl/include/nccl.h)
  if(NOT EXISTS ${nvidia}/${header})
    message(FATAL_ERROR "${nvidia}/${header} is missing: run e2e/environment again.")
  endif()
endforeach()
add_library(eidolon_cuda_headers INTERFACE)
add_library(eidolon::cuda_headers ALIAS eidolon_cuda_headers)
# The vendor's enumerations come from programs in C, which put any number into them.
if(EIDOLON_SANITIZE MATCHES "undefined")
  target_compile_options(eidolon_cuda_headers INTERFACE -fno-sanitize=enum)
endif()
target_include_directories(eidolon_cuda_headers SYSTEM INTERFACE
  ${nvidia}/cu13/include ${nvidia}/cudnn/include ${nvidia}/nccl/include ${nvidia}/cusparselt/include)
