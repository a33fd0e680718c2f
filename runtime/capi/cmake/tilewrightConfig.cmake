# Kernels of a Tilewright bundle from C and C++: the target `tilewright::tilewright`, linked
# dynamically. Found relative to this file, wherever the folder lies.
get_filename_component(_tilewright_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_tilewright_library "${_tilewright_prefix}/lib/@library@")
if(NOT EXISTS "${_tilewright_library}")
  set(tilewright_FOUND FALSE)
  set(tilewright_NOT_FOUND_MESSAGE "${_tilewright_library} is not there: install the C library again")
  return()
endif()
if(NOT TARGET tilewright::tilewright)
  add_library(tilewright::tilewright SHARED IMPORTED)
  set_target_properties(tilewright::tilewright PROPERTIES
    IMPORTED_LOCATION "${_tilewright_library}"
    IMPORTED_SONAME "@library@"
    INTERFACE_INCLUDE_DIRECTORIES "${_tilewright_prefix}/include")
endif()
unset(_tilewright_library)
unset(_tilewright_prefix)
