# Finds xxHash (XXH3, 0.8 or newer). Target: lockstep::xxhash.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
find_library(XXHASH_LIBRARY xxhash)
mark_as_advanced(XXHASH_INCLUDE_DIR XXHASH_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XxHash REQUIRED_VARS XXHASH_LIBRARY XXHASH_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "Debian: libxxhash-dev, Spack: xxhash")
if(NOT TARGET lockstep::xxhash)
  add_library(lockstep_xxhash_imported INTERFACE)
  target_include_directories(lockstep_xxhash_imported SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
  target_link_libraries(lockstep_xxhash_imported INTERFACE ${XXHASH_LIBRARY})
  add_library(lockstep::xxhash ALIAS lockstep_xxhash_imported)
endif()
