# Finds an HDF5 that was built with MPI, and refuses one that was built with another MPI than ours: two MPI libraries in
# one process crash late and obscurely. Target: lockstep::hdf5.
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 1.10.2 QUIET COMPONENTS C)

# HDF5_IS_PARALLEL can lie; the header that the library was built with cannot.
set(_hdf5_parallel FALSE)
foreach(_dir IN LISTS HDF5_C_INCLUDE_DIRS HDF5_INCLUDE_DIRS)
  if(EXISTS ${_dir}/H5pubconf.h)
    file(STRINGS ${_dir}/H5pubconf.h _hdf5_line REGEX "^#define H5_HAVE_PARALLEL 1")
    if(_hdf5_line)
      set(_hdf5_parallel TRUE)
      set(PARALLELHDF5_INCLUDE_DIR ${_dir})
    endif()
  endif()
endforeach()
if(HDF5_FOUND AND NOT _hdf5_parallel)
  message(FATAL_ERROR "HDF5 ${HDF5_VERSION} (${HDF5_C_INCLUDE_DIRS}) is not parallel: H5_HAVE_PARALLEL is missing in its H5pubconf.h. "
    "Install a parallel build (Debian: libhdf5-openmpi-dev, Spack: hdf5+mpi) and point HDF5_ROOT at it.")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ParallelHDF5 REQUIRED_VARS PARALLELHDF5_INCLUDE_DIR VERSION_VAR HDF5_VERSION
  REASON_FAILURE_MESSAGE "Run env/setup.sh, or set HDF5_ROOT to a parallel HDF5 (Debian: libhdf5-openmpi-dev)")

# The MPI library that HDF5 needs at run time must be the one that we link.
function(_lockstep_mpi_soname library out)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE _text ERROR_QUIET)
  string(REGEX MATCH "(NEEDED|SONAME) +(libmpi|libmpich)\\.so[^\n ]*" _hit "${_text}")
  string(REGEX REPLACE "^(NEEDED|SONAME) +" "" _hit "${_hit}")
  set(${out} "${_hit}" PARENT_SCOPE)
endfunction()
set(_hdf5_needs "")
foreach(_lib IN LISTS HDF5_C_LIBRARIES)
  if(_lib MATCHES "libhdf5[^/]*\\.so")
    _lockstep_mpi_soname(${_lib} _hdf5_needs)
  endif()
endforeach()
set(_mpi_is "")
foreach(_lib IN LISTS MPI_C_LIBRARIES)
  if(_lib MATCHES "libmpi[^/]*\\.so")
    _lockstep_mpi_soname(${_lib} _mpi_is)
  endif()
endforeach()
if(_hdf5_needs AND _mpi_is AND NOT _hdf5_needs STREQUAL _mpi_is)
  message(FATAL_ERROR "HDF5 was built with another MPI: it needs ${_hdf5_needs}, the MPI found is ${_mpi_is} (${MPI_C_LIBRARIES}). "
    "Set HDF5_ROOT or MPI_HOME so that both come from one installation.")
endif()

if(NOT TARGET lockstep::hdf5)
  add_library(lockstep_hdf5_imported INTERFACE)
  target_link_libraries(lockstep_hdf5_imported INTERFACE hdf5::hdf5 MPI::MPI_C)
  target_compile_definitions(lockstep_hdf5_imported INTERFACE H5_USE_110_API)
  add_library(lockstep::hdf5 ALIAS lockstep_hdf5_imported)
endif()
