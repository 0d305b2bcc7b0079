//! Tests of this folder.

use kyoho_core::{Level, Order, Precision, Scope, Sink};
use kyoho_hal::Backend;

use super::*;

pub(super) fn setup() -> Setup {
    Setup {
        order: Order::Fourth,
        precision: Precision::Double,
        scope: Scope::Full,
        backend: Backend::Cpu,
        devices: vec![0],
        threads: 1,
        level: Level::Portable,
        shape: None,
        partition: None,
        crossover: None,
        block_steps: None,
        fall_back: false,
    }
}

fn sink() -> Sink {
    Sink { index: 1, softening2: 0.0, radius2: 0.0, step: 0.0, derivatives: [[0.0; 3]; MAX_DERIVATIVES] }
}

fn source(x: f64) -> Source {
    Source::from_derivatives(0, 1.0, 0.0, [[x, 0.0, 0.0]])
}

fn made_at_run_time(change: impl FnOnce(&mut Interaction)) -> Result<System> {
    let mut interaction = Interaction::clone(&catalogue::CATALOGUE[5]);
    change(&mut interaction);
    System::with_interaction(Box::new(ThisMachine), Arc::new(interaction), &setup())
}

#[test]
fn an_interaction_made_at_run_time_computes_within_its_own_bounds() {
    let mut system = made_at_run_time(|interaction| {
        interaction.bounds.position = 8.0;
        interaction.documentation = "a box of side 16".into();
    })
    .unwrap();
    assert_eq!(system.interaction().documentation, "a box of side 16");
    let error = system.set_source(0, &source(9.0)).unwrap_err();
    assert!(error.to_string().contains("magnitudes up to 8e0"), "{error}");
    system.set_source(0, &source(2.0)).unwrap();
    assert_eq!(system.force(1, true, [sink()]).unwrap().acceleration(0), [0.25, 0.0, 0.0]);
}

#[test]
fn an_interaction_without_a_law_or_with_other_counts_is_rejected() {
    let error = made_at_run_time(|interaction| interaction.n_coefficients = 9).err().unwrap();
    assert!(error.to_string().contains("n_coefficients") && error.to_string().contains('9'), "{error}");
    let error = made_at_run_time(|interaction| interaction.order = Order::Eighth).err().unwrap();
    assert!(matches!(error, Error::BadOption { .. }), "{error}");
    let error = made_at_run_time(|interaction| {
        (interaction.order, interaction.precision) = (Order::Eighth, Precision::Single);
    });
    assert!(matches!(error, Err(Error::Unsupported { .. })));
}

#[test]
fn more_sinks_than_memory_holds_are_an_error_and_nothing_is_lost() {
    let mut system = System::new(&setup()).unwrap();
    let sink = sink();
    system.set_source(0, &source(1.0)).unwrap();
    let error = system.start(1, true, std::iter::repeat_n(sink, usize::MAX / size_of::<Sink>())).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { what: "sinks", .. }), "{error}");
    let error = system.start_from_fn(1, true, usize::MAX / size_of::<Sink>(), |_| sink).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { what: "sinks", .. }), "{error}");
    assert_eq!(system.force(1, true, [sink]).unwrap().acceleration(0), [1.0, 0.0, 0.0]);
}
