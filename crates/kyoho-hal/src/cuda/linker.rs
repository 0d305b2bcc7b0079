//! NVIDIA's linker nvJitLink, of toolkits and of a Python package of its own, which compiles PTX
//! where the driver has no compiler. It is opened when it is needed.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::OnceLock;

use crate::loader::{self, Symbol, functions};

use super::SUCCESS;

/// The libraries, each with the version in the names of its functions.
const LIBRARIES: [(&str, &str); 2] = [("libnvJitLink.so.13", "13_0"), ("libnvJitLink.so.12", "12_0")];
/// The kind of input that is PTX.
const PTX: i32 = 2;

functions! {
    nvJitLinkCreate(*mut *mut c_void, u32, *const *const c_char) -> i32;
    nvJitLinkDestroy(*mut *mut c_void) -> i32;
    nvJitLinkAddData(*mut c_void, i32, *const c_void, usize, *const c_char) -> i32;
    nvJitLinkComplete(*mut c_void) -> i32;
    nvJitLinkGetLinkedCubinSize(*mut c_void, *mut usize) -> i32;
    nvJitLinkGetLinkedCubin(*mut c_void, *mut c_void) -> i32;
    nvJitLinkGetErrorLogSize(*mut c_void, *mut usize) -> i32;
    nvJitLinkGetErrorLog(*mut c_void, *mut c_char) -> i32;
}

/// Compiles PTX, with a zero at its end, to a cubin for a compute capability, or says why it cannot.
pub fn compiled(ptx: &[u8], compute: (i32, i32)) -> Result<Vec<u8>, String> {
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = match TABLE.get() {
        Some(table) => table,
        None => {
            let table = opened()?;
            TABLE.get_or_init(|| table)
        }
    };
    compiled_by(table, ptx, compute)
}

/// Opens the first of the libraries that is there.
fn opened() -> Result<Table, String> {
    let mut reason = String::new();
    for (library, version) in LIBRARIES {
        let found = loader::open(&[library]).and_then(|find| table(&find, version));
        match found {
            Ok(table) => return Ok(table),
            Err(why) => reason = why,
        }
    }
    let [(newest, _), (oldest, _)] = LIBRARIES;
    Err(format!("neither {newest} nor {oldest}, which compile without the driver, can be opened: {reason}"))
}

/// Returns the functions of a version.
fn table(find: &impl Fn(&CStr) -> Option<Symbol>, version: &str) -> Result<Table, String> {
    let named = |name: &CStr| {
        let name = CString::new(format!("__{}_{version}", name.to_str().ok()?)).ok()?;
        find(&name)
    };
    Table::from(&named).map_err(|name| format!("it has no function {name} of version {version}"))
}

/// A link under way.
struct Link<'a> {
    table: &'a Table,
    handle: *mut c_void,
}

impl Link<'_> {
    /// Fails with what the linker says.
    fn check(&self, code: i32, call: &str) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        let mut size = 0;
        // SAFETY: the handle is of this link; the pointer is to a local variable.
        let known = unsafe { (self.table.nvJitLinkGetErrorLogSize)(self.handle, &mut size) } == SUCCESS;
        let mut log: Vec<u8> = vec![0; if known { size + 1 } else { 1 }];
        if known && size > 0 {
            // SAFETY: there is room for as many letters as the linker says.
            unsafe { (self.table.nvJitLinkGetErrorLog)(self.handle, log.as_mut_ptr().cast()) };
        }
        let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
        Err(format!("{call}: error {code}: {}", log.trim()))
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is of this link, which ends here.
        unsafe { (self.table.nvJitLinkDestroy)(&mut self.handle) };
    }
}

fn compiled_by(table: &Table, ptx: &[u8], (major, minor): (i32, i32)) -> Result<Vec<u8>, String> {
    let architecture = CString::new(format!("-arch=sm_{major}{minor}")).unwrap_or_default();
    let options = [architecture.as_ptr()];
    let mut handle = std::ptr::null_mut();
    // SAFETY: the pointers are to local variables; there is one option.
    let code = unsafe { (table.nvJitLinkCreate)(&mut handle, 1, options.as_ptr()) };
    if code != SUCCESS {
        return Err(format!("nvJitLinkCreate for compute capability {major}.{minor}: error {code}"));
    }
    let link = Link { table, handle };
    let name = c"kernels".as_ptr();
    // SAFETY: the text has so many bytes, and the handle is of this link.
    let code = unsafe { (table.nvJitLinkAddData)(handle, PTX, ptx.as_ptr().cast(), ptx.len(), name) };
    link.check(code, "nvJitLinkAddData")?;
    // SAFETY: the handle is of this link.
    link.check(unsafe { (table.nvJitLinkComplete)(handle) }, "nvJitLinkComplete")?;
    let mut size = 0;
    // SAFETY: the handle is of this link; the pointer is to a local variable.
    link.check(unsafe { (table.nvJitLinkGetLinkedCubinSize)(handle, &mut size) }, "nvJitLinkGetLinkedCubinSize")?;
    let mut cubin = vec![0; size];
    // SAFETY: there is room for as many bytes as the linker says.
    let code = unsafe { (table.nvJitLinkGetLinkedCubin)(handle, cubin.as_mut_ptr().cast()) };
    link.check(code, "nvJitLinkGetLinkedCubin")?;
    Ok(cubin)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &[u8] = b"ptxas fatal: unexpected end\n\0";
    const CUBIN: &[u8] = b"\x7fELF cubin";

    unsafe extern "C" fn create(handle: *mut *mut c_void, count: u32, options: *const *const c_char) -> i32 {
        // SAFETY: as the library is called.
        unsafe {
            *handle = std::ptr::null_mut();
            i32::from(count != 1 || CStr::from_ptr(*options) != c"-arch=sm_90")
        }
    }
    unsafe extern "C" fn destroy(_: *mut *mut c_void) -> i32 {
        0
    }
    unsafe extern "C" fn add(_: *mut c_void, kind: i32, text: *const c_void, size: usize, _: *const c_char) -> i32 {
        // SAFETY: as the library is called.
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), size) };
        if kind == PTX && text == b".version 8.0\0" { 0 } else { 4 }
    }
    unsafe extern "C" fn complete(_: *mut c_void) -> i32 {
        0
    }
    unsafe extern "C" fn size(_: *mut c_void, size: *mut usize) -> i32 {
        // SAFETY: as the library is called.
        unsafe { *size = CUBIN.len() };
        0
    }
    unsafe extern "C" fn cubin(_: *mut c_void, to: *mut c_void) -> i32 {
        // SAFETY: as the library is called.
        unsafe { std::ptr::copy_nonoverlapping(CUBIN.as_ptr(), to.cast(), CUBIN.len()) };
        0
    }
    unsafe extern "C" fn log_size(_: *mut c_void, size: *mut usize) -> i32 {
        // SAFETY: as the library is called.
        unsafe { *size = LOG.len() };
        0
    }
    unsafe extern "C" fn log(_: *mut c_void, to: *mut c_char) -> i32 {
        // SAFETY: as the library is called.
        unsafe { std::ptr::copy_nonoverlapping(LOG.as_ptr(), to.cast(), LOG.len()) };
        0
    }

    fn fake() -> Table {
        Table {
            nvJitLinkCreate: create,
            nvJitLinkDestroy: destroy,
            nvJitLinkAddData: add,
            nvJitLinkComplete: complete,
            nvJitLinkGetLinkedCubinSize: size,
            nvJitLinkGetLinkedCubin: cubin,
            nvJitLinkGetErrorLogSize: log_size,
            nvJitLinkGetErrorLog: log,
        }
    }

    #[test]
    fn ptx_becomes_a_cubin_or_an_error_with_what_the_linker_says() {
        assert_eq!(compiled_by(&fake(), b".version 8.0\0", (9, 0)).as_deref(), Ok(CUBIN));
        let error = compiled_by(&fake(), b"nonsense\0", (9, 0)).unwrap_err();
        assert_eq!(error, "nvJitLinkAddData: error 4: ptxas fatal: unexpected end");
        let error = compiled_by(&fake(), b".version 8.0\0", (1, 0)).unwrap_err();
        assert_eq!(error, "nvJitLinkCreate for compute capability 1.0: error 1");
    }

    #[test]
    fn functions_have_the_version_in_their_names() {
        let missing = table(&|_| None, "12_0").err().unwrap();
        assert_eq!(missing, "it has no function nvJitLinkCreate of version 12_0");
        let asked = std::cell::RefCell::new(Vec::new());
        let find = |name: &CStr| {
            asked.borrow_mut().push(name.to_owned());
            None
        };
        assert!(table(&find, "13_0").is_err());
        assert_eq!(asked.borrow()[0].as_c_str(), c"__nvJitLinkCreate_13_0");
    }
}
