//! How structures that kernels have too are defined.

/// Defines a structure that kernels have too, and a constant that lists its fields with the types that
/// these have in C. A crate that calls it depends on `bytemuck`.
#[macro_export]
macro_rules! shared_structure {
    ($(#[$documentation:meta])* $name:ident, $fields:ident { $($(#[$of_field:meta])* $field:ident: $kind:ident,)* }) => {
        $(#[$documentation])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name {
            $($(#[$of_field])* pub $field: $kind,)*
        }

        /// Its fields, as kernels have them.
        pub const $fields: &[(&str, &str)] = &[$(($crate::in_c!($kind), stringify!($field))),*];
    };
}

/// Returns the name in C of a type of Rust.
#[macro_export]
macro_rules! in_c {
    (f64) => {
        "double"
    };
    (i32) => {
        "int"
    };
    (u32) => {
        "uint"
    };
    (i64) => {
        "long"
    };
    ($structure:ident) => {
        stringify!($structure)
    };
}
