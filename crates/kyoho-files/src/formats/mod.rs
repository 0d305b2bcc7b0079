//! The formats, each in a module: whether a file is in it, and its bodies.

pub mod amuse;
pub mod gadget;
pub mod kyoho;
pub mod nbody6;
pub mod text;
