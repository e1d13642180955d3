# Finds LibTorch and makes the target lockstep::torch, without torch's own CMake package: that one enables CUDA and wants
# nvcc even to link for the CPU. Looks at LOCKSTEP_TORCH (option or environment), then CMAKE_PREFIX_PATH, then the
# place where env/setup.sh puts its copy.
set(_torch_version_pinned 2.15.0)
if(NOT "$ENV{LOCKSTEP_CACHE}" STREQUAL "")
  set(_torch_cache $ENV{LOCKSTEP_CACHE})
elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(_torch_cache $ENV{XDG_CACHE_HOME}/lockstep)
else()
  set(_torch_cache $ENV{HOME}/.cache/lockstep)
endif()

if(NOT LOCKSTEP_TORCH AND DEFINED ENV{LOCKSTEP_TORCH})
  set(LOCKSTEP_TORCH $ENV{LOCKSTEP_TORCH})
endif()
# Where the place was named anew, what an earlier run found does not count.
if(NOT "${LOCKSTEP_TORCH}" STREQUAL "${LIBTORCH_FOUND_BY}")
  unset(LIBTORCH_INCLUDE_DIR CACHE)
  unset(LIBTORCH_CPU_LIBRARY CACHE)
  unset(LIBTORCH_C10_LIBRARY CACHE)
  set(LIBTORCH_FOUND_BY "${LOCKSTEP_TORCH}" CACHE INTERNAL "LOCKSTEP_TORCH of the search whose result is cached")
endif()
set(_torch_file torch/csrc/api/include/torch/version.h)
if(LOCKSTEP_TORCH)  # the user said where: nothing else will do
  find_path(LIBTORCH_INCLUDE_DIR ${_torch_file} PATHS ${LOCKSTEP_TORCH} PATH_SUFFIXES include NO_DEFAULT_PATH)
else()
  find_path(LIBTORCH_INCLUDE_DIR ${_torch_file}
    PATHS ${_torch_cache}/libtorch-${_torch_version_pinned}-cpu/torch ${_torch_cache}/libtorch-${_torch_version_pinned}-cuda/torch
    PATH_SUFFIXES include)
endif()
if(LIBTORCH_INCLUDE_DIR)
  get_filename_component(LIBTORCH_ROOT ${LIBTORCH_INCLUDE_DIR} DIRECTORY)
  find_library(LIBTORCH_CPU_LIBRARY torch_cpu HINTS ${LIBTORCH_ROOT}/lib NO_DEFAULT_PATH)
  find_library(LIBTORCH_C10_LIBRARY c10 HINTS ${LIBTORCH_ROOT}/lib NO_DEFAULT_PATH)
  # The numbers moved to headeronly/ in newer releases; an older LibTorch says them in the file that we looked for.
  set(_torch_header ${LIBTORCH_INCLUDE_DIR}/torch/headeronly/version.h)
  if(NOT EXISTS ${_torch_header})
    set(_torch_header ${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h)
  endif()
  foreach(_part MAJOR MINOR PATCH)
    file(STRINGS ${_torch_header} _torch_line REGEX "define TORCH_VERSION_${_part} ")
    string(REGEX REPLACE ".*TORCH_VERSION_${_part} +([0-9]+).*" "\\1" _torch_${_part} "${_torch_line}")
  endforeach()
  set(LIBTORCH_VERSION ${_torch_MAJOR}.${_torch_MINOR}.${_torch_PATCH})
endif()
mark_as_advanced(LIBTORCH_INCLUDE_DIR LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY LIBTORCH_INCLUDE_DIR
  VERSION_VAR LIBTORCH_VERSION
  REASON_FAILURE_MESSAGE "Run env/setup.sh, which fetches LibTorch ${_torch_version_pinned}, or pass -DLOCKSTEP_TORCH=DIR \
(DIR holds include/ and lib/. A Python install has it where python3 -c 'print(__import__(\"torch\").__path__[0])' says)")

# An old torch with the other std::string ABI gives misleading link errors: say it here.
file(GLOB _torch_config ${LIBTORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake)
if(_torch_config)
  file(STRINGS ${_torch_config} _torch_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
  if(_torch_abi)
    message(FATAL_ERROR "LibTorch in ${LIBTORCH_ROOT} is built with _GLIBCXX_USE_CXX11_ABI=0; take a build with the cxx11 ABI (any wheel since 2.7)")
  endif()
endif()

if(NOT TARGET lockstep::torch)
  add_library(lockstep_torch_imported INTERFACE)
  target_include_directories(lockstep_torch_imported SYSTEM INTERFACE
    ${LIBTORCH_INCLUDE_DIR} ${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include)
  target_link_libraries(lockstep_torch_imported INTERFACE ${LIBTORCH_CPU_LIBRARY} ${LIBTORCH_C10_LIBRARY})
  add_library(lockstep::torch ALIAS lockstep_torch_imported)
endif()
