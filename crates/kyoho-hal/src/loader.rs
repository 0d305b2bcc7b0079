//! The libraries of drivers, opened at run time, and tables of their functions.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// A function whose signature is not known yet.
pub type Symbol = unsafe extern "C" fn();

/// Why a program that is linked with `-static` gets no driver.
const IS_STATIC: &str =
    "the program is linked statically (-static), and such a program can load no driver; link it dynamically";

/// Opens the first of these libraries that is there, for as long as the process lives, since
/// drivers leave threads behind that run in them. Returns a search for its functions, or the reason
/// why the last one could not be opened.
pub fn open(names: &[&str]) -> Result<impl Fn(&CStr) -> Option<Symbol> + use<>, String> {
    if !has_dynamic_loader() {
        log::info!("only the CPU is offered: {IS_STATIC}");
        return Err(IS_STATIC.into());
    }
    let mut reason = String::new();
    for name in names {
        // SAFETY: opening a driver's library runs its constructors, which do not use this process's
        // state.
        match unsafe { Library::new(*name) } {
            Ok(library) => {
                let library: &'static Library = Box::leak(Box::new(library));
                // SAFETY: the symbols asked for are functions, which get their signatures in a
                // table.
                return Ok(|name: &CStr| unsafe {
                    library.get::<Symbol>(name.to_bytes_with_nul()).ok().map(|symbol| *symbol)
                });
            }
            Err(error) => {
                let source = std::error::Error::source(&error).map(ToString::to_string);
                reason = source.unwrap_or_else(|| error.to_string());
            }
        }
    }
    Err(reason)
}

/// Whether the dynamic loader started this program. Where it did not, the static C library opens
/// libraries with a loader of its own, in which those of drivers crash.
fn has_dynamic_loader() -> bool {
    /// Notes whether the first object, which is the program, asks for a loader.
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the C library gives the headers of the object as they lie in memory, and hands on
        // the place of the caller's answer.
        unsafe {
            let headers = std::slice::from_raw_parts((*object).dlpi_phdr, usize::from((*object).dlpi_phnum));
            *found.cast::<bool>() = headers.iter().any(|header| header.p_type == libc::PT_INTERP);
        }
        1
    }
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let mut found = false;
        // SAFETY: `look` matches the signature, and `found` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    })
}

/// Defines a table of functions, one pointer for each, named as the library's symbol. `from` fills
/// it from a search and returns the name of the first function that is missing.
macro_rules! functions {
    ($($name:ident($($argument:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions of the driver that are used.
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub struct Table {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Table {
            /// Fills the table, or returns the name of the first function that is missing.
            pub fn from(
                find: &impl Fn(&std::ffi::CStr) -> Option<$crate::loader::Symbol>,
            ) -> std::result::Result<Table, &'static str> {
                Ok(Table {
                    $($name: {
                        let name = concat!(stringify!($name), "\0");
                        let name = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).map_err(|_| stringify!($name))?;
                        let symbol = find(name).ok_or(stringify!($name))?;
                        // SAFETY: the driver documents this signature for this name.
                        unsafe {
                            std::mem::transmute::<
                                $crate::loader::Symbol,
                                unsafe extern "C" fn($($argument),*) -> $result,
                            >(symbol)
                        }
                    },)*
                })
            }
        }
    };
}
pub(super) use functions;
