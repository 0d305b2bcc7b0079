# Kyoho for CMake:
#     find_package(kyoho 0.2 REQUIRED)
#     target_link_libraries(program PRIVATE kyoho::kyoho)
# kyoho::static is the static library. A Fortran program adds ${kyoho_FORTRAN_MODULE} to its
# sources.
get_filename_component(_kyoho_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(kyoho_FORTRAN_MODULE "${_kyoho_prefix}/include/kyoho.f90")
if(NOT TARGET kyoho::kyoho)
  add_library(kyoho::kyoho SHARED IMPORTED)
  set_target_properties(kyoho::kyoho PROPERTIES
    IMPORTED_LOCATION "${_kyoho_prefix}/lib/libkyoho.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_kyoho_prefix}/include")
  add_library(kyoho::static STATIC IMPORTED)
  set_target_properties(kyoho::static PROPERTIES
    IMPORTED_LOCATION "${_kyoho_prefix}/lib/libkyoho.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_LINK_LIBRARIES "pthread;dl;m;rt"
    INTERFACE_INCLUDE_DIRECTORIES "${_kyoho_prefix}/include")
endif()
unset(_kyoho_prefix)
