//! Names the shared library for the dynamic linker.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libkyoho.so.{}", interface_number());
        // A client may define functions with the same names. The library's own calls must not reach
        // them.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
        // Helper threads may end after the last system is freed, so their code must stay loaded
        // after dlclose.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}

/// Returns the number of the binary interface: a program runs with each library of its number.
/// Before version 1 each minor version may change the interface.
fn interface_number() -> String {
    match (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR")) {
        ("0", minor) => format!("0.{minor}"),
        (major, _) => major.into(),
    }
}
