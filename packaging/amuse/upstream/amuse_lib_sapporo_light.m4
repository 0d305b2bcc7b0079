# AMUSE_LIB_SAPPORO_LIGHT()
#
# Finds a library with Sapporo's functions: first the one that the module sapporo_light of
# pkg-config names, wherever a user has installed it, and else the one of AMUSE's own folders. Sets
# SAPPORO_LIGHT_CFLAGS and SAPPORO_LIGHT_LIBS. Workers get the folder of an installed library as
# run path, so that it is found where they start.
AC_DEFUN([AMUSE_LIB_SAPPORO_LIGHT], [
    AC_REQUIRE([PKG_PROG_PKG_CONFIG])
    PKG_CHECK_EXISTS([sapporo_light], [
        PKG_CHECK_MODULES([SAPPORO_LIGHT], [sapporo_light])
        PKG_CHECK_VAR([SAPPORO_LIGHT_LIBDIR], [sapporo_light], [libdir])
        AS_IF([test -n "$SAPPORO_LIGHT_LIBDIR"],
            [SAPPORO_LIGHT_LIBS="$SAPPORO_LIGHT_LIBS -Wl,-rpath,$SAPPORO_LIGHT_LIBDIR"])
        amuse_saved_libs=$LIBS
        LIBS="$SAPPORO_LIGHT_LIBS $LIBS"
        AC_LANG_PUSH([C])
        AC_MSG_CHECKING([whether the module sapporo_light has get_device_count])
        AC_LINK_IFELSE([AC_LANG_CALL([], [get_device_count])], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([the module sapporo_light of pkg-config names no library that can be linked])])
        AC_LANG_POP([C])
        LIBS=$amuse_saved_libs
    ], [
        AMUSE_LIB([SAPPORO_LIGHT], [sapporo_light], [sapporo], [get_device_count])
    ])
])
