# find_package(sgemm): the targets sgemm::sgemm, shared, and sgemm::static, in the folder above lib/.
get_filename_component(_sgemm_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET sgemm::sgemm)
  add_library(sgemm::sgemm SHARED IMPORTED)
  set_target_properties(sgemm::sgemm PROPERTIES
    IMPORTED_LOCATION "${_sgemm_prefix}/lib/libsgemm.so"
    # Without it, programs would name the library by its path.
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${_sgemm_prefix}/include")
endif()

if(NOT TARGET sgemm::static)
  add_library(sgemm::static STATIC IMPORTED)
  set_target_properties(sgemm::static PROPERTIES
    IMPORTED_LOCATION "${_sgemm_prefix}/lib/libsgemm.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_sgemm_prefix}/include"
    INTERFACE_LINK_LIBRARIES "gcc_s;Threads::Threads;m;dl")
endif()

unset(_sgemm_prefix)
