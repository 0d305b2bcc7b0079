//! The C form and the Fortran forms of a function, made from one row of a table.

use std::ffi::c_int;

/// A type of arguments in C. Fortran passes every argument by a pointer.
pub trait Argument {
    /// The type of the same argument in Fortran.
    type ByFortran;
}

impl Argument for c_int {
    type ByFortran = *mut c_int;
}

impl Argument for f64 {
    type ByFortran = *mut f64;
}

impl<T> Argument for *mut T {
    type ByFortran = *mut T;
}

/// Defines the functions of an old interface, each from a row such as
///
/// ```text
/// g6_set_ti(cid: c_int, ti: f64)
///     fortran(g6_set_ti_, g6_set_ti__) reads(ti) => calls::set_time(ti());
/// ```
///
/// The row makes `g6_set_ti`, whose arguments have the types in the row, and the Fortran forms
/// `g6_set_ti_` and `g6_set_ti__`, whose arguments are pointers. `reads` lists the scalars that the
/// call needs. `ti()` in the call is the value of `ti` as a `Result`, which is an error where
/// Fortran passes null. All other scalars are never read, so that Fortran may pass null or a
/// pointer to another type for them.
///
/// Every form makes the call itself, and none goes through the symbol of another: a program may
/// define a function of that name, which the dynamic linker would prefer.
macro_rules! functions {
    ($(
        $c:ident $arguments:tt fortran($($fortran:ident),*) reads $scalars:tt => $call:expr;
    )*) => {$(
        $crate::abi::forms::c_form! { $c $arguments $scalars $call }
        $($crate::abi::forms::fortran_form! { $fortran $c $arguments $scalars $call })*
    )*};
}

macro_rules! c_form {
    ($name:ident ($($argument:ident: $type:ty),*) ($($scalar:ident),*) $call:expr) => {
        /// The C form; its documentation is in the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            $(let $scalar = || kyoho_core::error::Result::Ok($scalar);)*
            // SAFETY: the caller passes null or pointers to arrays of the documented length.
            unsafe { $call }
        }
    };
}

macro_rules! fortran_form {
    ($name:ident $c:ident ($($argument:ident: $type:ty),*) ($($scalar:ident),*) $call:expr) => {
        #[doc = concat!("A Fortran form of `", stringify!($c), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($argument: <$type as $crate::abi::forms::Argument>::ByFortran),*
        ) -> c_int {
            // SAFETY: the caller passes null or pointers to scalars of these types.
            $(let $scalar = || unsafe { $crate::abi::arrays::scalar(stringify!($scalar), $scalar) };)*
            // SAFETY: the caller passes null or pointers to arrays of the documented length.
            unsafe { $call }
        }
    };
}

pub(crate) use {c_form, fortran_form, functions};
