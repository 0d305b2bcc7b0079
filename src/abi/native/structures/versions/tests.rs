//! Tests of `versions`.

use super::super::*;
use super::*;

const SIZE: usize = size_of::<kyoho_predictions>();

/// The bytes of predictions in a program whose structure has another size.
fn bytes(size: usize, structure_size: i32) -> Vec<u8> {
    let mut bytes = vec![0; size];
    bytes[..4].copy_from_slice(&structure_size.to_ne_bytes());
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<kyoho_predictions> {
    // SAFETY: a size, and no fewer bytes than it says unless it is refused.
    unsafe { read("predictions", bytes.as_ptr().cast()) }
}

#[test]
fn sizes_that_no_version_has_are_refused() {
    let first = kyoho_predictions::FIRST_SIZE as i32;
    for size in [0, -1, 4, first - 1, LARGEST as i32 + 1, i32::MAX] {
        let error = read_bytes(&bytes(SIZE, size)).unwrap_err().to_string();
        let expected = format!("kyoho_predictions.structure_size is '{size}'; allowed: sizeof(kyoho_predictions)");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn a_newer_program_may_have_fields_that_are_zero() {
    let newer = SIZE + 16;
    let mut program = bytes(newer, newer as i32);
    assert_eq!(read_bytes(&program).unwrap().structure_size, newer as i32);
    program[newer - 1] = 1;
    let error = read_bytes(&program).unwrap_err().to_string();
    assert!(error.contains(&format!("structure_size is '{newer}'; allowed: {SIZE} in version")), "{error}");
    let of_program = program.as_mut_ptr().cast();
    // SAFETY: as many bytes as the size says.
    assert!(unsafe { write("predictions", of_program, empty::<kyoho_predictions>()) }.is_err());
}

/// A structure that has grown since a program was compiled.
#[derive(Clone, Copy)]
#[repr(C)]
struct Grown {
    structure_size: i32,
    first: i32,
    added: i64,
}

// SAFETY: numbers without padding, the size first.
unsafe impl Structure for Grown {
    const NAME: &'static str = "grown";
    const FIRST_SIZE: usize = 8;
}

#[test]
fn an_older_program_has_zeros_in_new_fields_and_nothing_written_behind_its_own() {
    let mut program = [8, 5, 77, 77];
    let pointer = program.as_mut_ptr().cast::<Grown>();
    // SAFETY: 8 bytes are there, as the size says.
    let Grown { structure_size, first, added } = unsafe { read("grown", pointer) }.unwrap();
    assert_eq!((structure_size, first, added), (8, 5, 0));
    // SAFETY: as above.
    unsafe { write("grown", pointer, Grown { structure_size: 0, first: 6, added: -1 }) }.unwrap();
    assert_eq!(program, [8, 6, 77, 77]);
}

#[test]
fn the_first_sizes_are_those_that_programs_have() {
    if cfg!(target_pointer_width = "64") {
        let sizes = [
            kyoho_options::FIRST_SIZE,
            kyoho_sources::FIRST_SIZE,
            kyoho_sinks::FIRST_SIZE,
            kyoho_forces::FIRST_SIZE,
            kyoho_predictions::FIRST_SIZE,
            kyoho_statistics::FIRST_SIZE,
            kyoho_interaction::FIRST_SIZE,
            kyoho_lists::FIRST_SIZE,
            kyoho_batch::FIRST_SIZE,
            kyoho_tree_errors::FIRST_SIZE,
            kyoho_integrator_options::FIRST_SIZE,
            kyoho_bodies::FIRST_SIZE,
            kyoho_body_states::FIRST_SIZE,
            kyoho_evolve_options::FIRST_SIZE,
            kyoho_evolution::FIRST_SIZE,
            kyoho_encounters::FIRST_SIZE,
            kyoho_integration::FIRST_SIZE,
        ];
        assert_eq!(sizes, [40, 208, 160, 120, 72, 56, 56, 120, 72, 40, 64, 88, 88, 40, 64, 72, 48]);
    }
}
