//! Tests of this folder.

use super::*;
use crate::{Packed, PairKernel, PairMachine};
use kyoho_core::Level;
use kyoho_hal::fake::{Fake, Shared};
use kyoho_language::Options;
use kyoho_language::types::Scalar;

const TEXT: &str = "pair p\ni x: f64\nj x: f64\nresult s: f64 sum\nbody\ns += (i.x - j.x)^2\n";

fn fake(script: &Shared, pairs: &PairProgram) -> Result<Box<dyn PairSums>> {
    Ok(Box::new(GpuPairs::new(Backend::Cuda, &[0], pairs, |_| Ok(Fake::new(script, false)))?))
}

/// Returns an interaction that a fake GPU sums; if `falls_back`, a CPU takes over when it fails.
fn on_fake(script: &Shared, falls_back: bool) -> PairKernel {
    let cpu = PairMachine::cpu(1, Level::Portable);
    let mut kernel = PairKernel::new(TEXT, Options::default(), &cpu).unwrap();
    (kernel.sums, kernel.spare) = (fake(script, &kernel.pairs).unwrap(), falls_back.then_some(cpu));
    for name in ["i.x", "j.x"] {
        kernel.set(name, &Packed { numbers: &[1.0, 2.0, 4.0], width: 1 }).unwrap();
    }
    kernel
}

fn sums(kernel: &PairKernel) -> Vec<f64> {
    let result = kernel.result("s").unwrap();
    (0..result.count()).map(|sink| result.number(sink, 0).widened().to_f64()).collect()
}

#[test]
fn a_cpu_takes_over_whichever_call_of_a_run_fails() {
    let script = Shared::default();
    let mut kernel = on_fake(&script, true);
    let opened = script.get().calls.len();
    kernel.run(None, None).unwrap();
    let calls = opened..script.get().calls.len();
    assert!(calls.len() > 8, "{calls:?}");
    drop(kernel);
    for failing in calls {
        let script = Shared::default();
        let mut kernel = on_fake(&script, true);
        script.get().failing = Some(failing..usize::MAX);
        for _ in 0..2 {
            kernel.run(None, None).unwrap();
            assert_eq!(sums(&kernel), [10.0, 5.0, 13.0], "call {failing}");
        }
        drop(kernel);
        assert!(script.get().is_clean());
    }
}

#[test]
fn two_limbs_are_refused_by_a_device_whose_products_are_not_exact() {
    let script = Shared::default();
    for scalar in [Scalar::Ff, Scalar::Dd] {
        // Kernels of this fake do nothing, so that all products are zero.
        let error = products::check(scalar, (Backend::Cuda, 3), |pairs| fake(&script, pairs)).unwrap_err();
        let expected = format!("backend 'cuda' does not compute {} on device 3, where ", scalar.name());
        assert!(error.to_string().starts_with(&expected), "{error}");
        let cpu = |pairs: &PairProgram| PairMachine::cpu(1, Level::Portable).sums(pairs).map(|(sums, _)| sums);
        products::check(scalar, (Backend::Cpu, 0), cpu).unwrap();
    }
    assert!(script.get().is_clean());
}

#[test]
fn all_operands_of_values_that_know_no_pair_have_names() {
    let values = ["max(j.z, j.y) + 0.25", "j.z * 2", "j.z - j.y", "i.x / 3", "c * c", "select(j.y < 1, j.z, 2 * j.y)"];
    for (value, way) in values.iter().flat_map(|value| [(value, "argmin"), (value, "argmax")]) {
        let text = format!(
            "pair p\ni x: f64\nj y: f64, z: f64\nparam c: f64\nresult r: f64 {way}\nbody\nr {way}= j.y + i.x, {value}\n"
        );
        let pairs = kyoho_language::compile(&text, Options::default()).unwrap();
        // Tests stop at an operand without a name.
        source(Backend::Cuda, &pairs).unwrap();
        source(Backend::OpenCl, &pairs).unwrap();
    }
}

#[test]
fn a_failure_is_an_error_where_the_backend_was_chosen() {
    let script = Shared::default();
    let mut kernel = on_fake(&script, false);
    let opened = script.get().calls.len();
    script.get().failing = Some(opened..opened + 1);
    assert!(kernel.run(None, None).unwrap_err().is_of_device());
    assert!(kernel.result("s").is_err(), "there are no results of a run that failed");
    kernel.run(None, None).expect("the device goes on after a failure that has passed");
}
