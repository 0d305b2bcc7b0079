//! Names the shared library for the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libkyoho.so.0");
        // A client may define functions of the same names; the library's own calls must not land there.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
        // Helper threads end some time after the last system is freed: their code must stay after dlclose.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
