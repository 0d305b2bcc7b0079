//! AMUSE's ph4 and phiGRAPE, from their releases, on an installation of Kyoho that takes the place
//! of Sapporo.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::programs::alone;
use common::{root, succeed, text};

/// The Python environment that has AMUSE, and the folder of a test in which its programs run.
struct Amuse {
    environment: PathBuf,
}

/// Installs Kyoho and builds AMUSE against it. The result of the same script stays for later runs.
/// Returns none if `KYOHO_SKIP_AMUSE=1` says that AMUSE cannot be fetched.
fn amuse() -> Option<&'static Amuse> {
    static BUILT: OnceLock<Amuse> = OnceLock::new();
    if std::env::var_os("KYOHO_SKIP_AMUSE").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_AMUSE=1: ph4 and phiGRAPE were not built and run");
        return None;
    }
    Some(BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amuse");
        let prefix = folder.join("prefix");
        std::fs::create_dir_all(&prefix).unwrap();
        let mut install = Command::new("make");
        install.current_dir(root()).args(["install", "PROFILE=dev", "DROPIN=1"]);
        succeed(install.arg(format!("PREFIX={}", prefix.display())));
        let made_by: String =
            ["build", "requirements.txt", "releases.txt"].map(|name| text(&format!("packaging/amuse/{name}"))).concat();
        let stamp = folder.join("made-by");
        if std::fs::read_to_string(&stamp).ok().as_ref() != Some(&made_by) {
            let _ = std::fs::remove_file(&stamp);
            succeed(Command::new(root().join("packaging/amuse/build")).arg(&prefix).arg(&folder));
            std::fs::write(&stamp, made_by).unwrap();
        }
        Amuse { environment: folder.join("venv") }
    }))
}

impl Amuse {
    /// Returns Python on the CPU backend, in a folder of its own that keeps the library's logs.
    fn python(&self, name: &str, variables: &[(&str, &str)]) -> (Command, PathBuf) {
        let folder = common::folder(name);
        // A program that hangs has to fail.
        let mut python = alone(Command::new("timeout"));
        python.args(["--kill-after=10", "900"]).arg(self.environment.join("bin/python")).current_dir(&folder);
        python.env("PYTHONPATH", root().join("tests/amuse")).env("AMUSERC", root().join("tests/amuse/amuserc"));
        // AMUSE finds its tools by this. Open MPI, which its workers use, refuses root and too few
        // cores otherwise.
        let path = std::env::var("PATH").unwrap();
        python.env("PATH", format!("{}:{path}", self.environment.join("bin").display()));
        for (name, value) in [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
            ("OMPI_MCA_hwloc_base_binding_policy", "none"),
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("KYOHO_BACKEND", "cpu"),
        ] {
            python.env(name, value);
        }
        // Workers run in other folders, and nobody reads their output.
        python.env("KYOHO_LOG_FILE", folder.join("kyoho-%p.log")).envs(variables.iter().copied());
        (python, folder)
    }

    /// Returns the energies of a Plummer model, one row for each worker: time, kinetic, potential.
    fn energies(&self, code: &str, number: &str, end: &str, more: &[&str], precision: &str) -> Vec<[f64; 3]> {
        let (mut python, folder) =
            self.python(&format!("amuse_{code}_{number}_{precision}"), &[("KYOHO_PRECISION", precision)]);
        python.arg(root().join("tests/amuse/plummer.py")).args([code, number, end]).args(more);
        let output = String::from_utf8(succeed(&mut python).stdout).unwrap();
        let opened = opened(&folder);
        assert!(!opened.is_empty(), "the worker did not use the library");
        let expected = format!("precision {precision}");
        assert!(opened.iter().all(|line| line.contains(&expected) && line.contains(", rank 0 (")), "{opened:?}");
        let rows = output.lines().filter_map(|line| {
            let numbers: Vec<f64> = line.split(' ').skip(1).map_while(|word| word.parse().ok()).collect();
            numbers.try_into().ok()
        });
        rows.collect()
    }
}

/// Installs the Python package and `amuse-kyoho` beside AMUSE, once for all tests.
fn install_codes(amuse: &Amuse) {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| install_codes_now(amuse));
}

fn install_codes_now(amuse: &Amuse) {
    let built = common::folder("amuse_wheel");
    let mut make = Command::new("make");
    make.current_dir(root()).args(["wheel", "PROFILE=dev"]).arg(format!("WHEEL={}", built.display()));
    succeed(&mut make);
    let wheel = std::fs::read_dir(&built).unwrap().next().unwrap().unwrap().path();
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(amuse.environment.join("bin/python"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall"]);
    succeed(pip.arg(wheel).arg(root().join("packaging/amuse/amuse-kyoho")));
}

/// Returns the lines of the library's logs in a folder about who opened it.
fn opened(folder: &Path) -> Vec<String> {
    let logs = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = logs.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    let lines = logs.flat_map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().filter(|line| line.contains("g6 opened by process")).map(String::from).collect::<Vec<_>>()
    });
    lines.collect()
}

/// One word by which `make test` tells these tests from the others.
mod with_amuse {
    use super::*;

    #[test]
    fn energies_agree_with_those_of_the_codes_own_arithmetic() {
        let Some(amuse) = amuse() else { return };
        for code in ["ph4", "phigrape"] {
            for precision in ["mixed", "double"] {
                let rows = amuse.energies(code, "1024", "0.125", &[], precision);
                let [own, here] = rows[..] else { panic!("{code}: {rows:?}") };
                assert!(own[0] >= 0.125 && own[0] == here[0], "{code}: {rows:?}");
                for (own, here) in own.iter().zip(&here) {
                    assert!((here / own - 1.0).abs() < 1e-6, "{code}, {precision}: {rows:?}");
                }
            }
        }
    }

    /// Sapporo 1 takes at most 131072 sources and ends its process at the next.
    #[test]
    fn ph4_integrates_more_bodies_than_sapporo_1_takes() {
        let Some(amuse) = amuse() else { return };
        let rows = amuse.energies("ph4", "131100", "0.0001", &["alone"], "mixed");
        let [[time, kinetic, potential]] = rows[..] else { panic!("{rows:?}") };
        assert!(time >= 0.0001, "{rows:?}");
        // The model has standard units.
        assert!((kinetic - 0.25).abs() < 0.005 && (potential + 0.5).abs() < 0.005, "{rows:?}");
    }

    /// AMUSE's tests for ph4 and phiGRAPE, on the workers that link the library, whatever mode they ask
    /// for.
    #[test]
    fn amuses_own_tests_of_the_codes_pass() {
        let Some(amuse) = amuse() else { return };
        // One of them checks that ph4 uses a GPU only if it is asked to, which does not hold for this
        // worker.
        for (file, without) in [("test_ph4.py", "not (TestPH4 and test17)"), ("test_phigrape.py", "test")] {
            // They need potentials with eight digits, and steps that are smaller than the noise of
            // single precision allows.
            let (mut python, folder) = amuse.python(&format!("amuse_{file}"), &[("KYOHO_PRECISION", "double")]);
            let tests = "import amuse.test.suite.codes_tests as tests; print(tests.__path__[0])";
            let told = String::from_utf8(succeed(python.args(["-c", tests])).stdout).unwrap();
            let tests = told.lines().find(|line| line.ends_with("codes_tests")).unwrap_or_else(|| panic!("{told}"));
            let (mut python, _) = amuse.python(&format!("amuse_{file}"), &[("KYOHO_PRECISION", "double")]);
            python.args([
                "-m",
                "pytest",
                "-q",
                "-p",
                "gpu_workers",
                "-p",
                "no:cacheprovider",
                "--tb=short",
                "-k",
                without,
            ]);
            let said = String::from_utf8(succeed(python.arg(Path::new(tests).join(file))).stdout).unwrap();
            let passed = said.split(" passed").next().and_then(|text| text.split_whitespace().last()?.parse().ok());
            assert!(passed.is_some_and(|passed: usize| passed > 20), "{said}");
            assert!(opened(&folder).len() > 10, "the workers did not use the library");
        }
    }

    /// `KyohoField` takes the place of FastKick in AMUSE's tests of FastKick, of which those that start
    /// the fewest workers are run, and in a bridge.
    #[test]
    fn the_field_code_takes_fastkicks_place() {
        let Some(amuse) = amuse() else { return };
        install_codes(amuse);
        let (mut python, _) = amuse.python("amuse_fastkick", &[]);
        let tests = "import amuse.test.suite.codes_tests as tests; print(tests.__path__[0])";
        let told = String::from_utf8(succeed(python.args(["-c", tests])).stdout).unwrap();
        let tests = told.lines().find(|line| line.ends_with("codes_tests")).unwrap_or_else(|| panic!("{told}"));
        let (mut python, _) = amuse.python("amuse_fastkick", &[]);
        python.args(["-m", "pytest", "-q", "-p", "fastkick_by_kyoho", "-p", "no:cacheprovider", "--tb=short", "-k"]);
        let chosen = "TestFastKick and not GPU and (test4 or test5 or test7 or test8 or test11 or test12 or test13)";
        let said = succeed(python.arg(chosen).arg(Path::new(tests).join("test_fastkick.py")));
        let said = String::from_utf8(said.stdout).unwrap();
        assert!(said.contains("8 passed"), "{said}");

        let (mut python, _) = amuse.python("amuse_field", &[]);
        let said = String::from_utf8(succeed(python.arg(root().join("tests/amuse/field.py"))).stdout).unwrap();
        let error = said.lines().find_map(|line| line.strip_prefix("median error ")?.parse::<f64>().ok());
        assert!(error.is_some_and(|error| error > 0.0 && error < 1e-3), "{said}");
        assert!(said.contains("accuracy of 0.5: ") && said.contains("allowed: "), "{said}");
    }

    /// `Kyoho` passes AMUSE's tests for all codes of gravitational dynamics, its stopping conditions are
    /// met, a bridge in a galaxy conserves energy, and its results are those of ph4.
    #[test]
    fn the_dynamics_code_passes_amuses_tests_and_agrees_with_ph4() {
        let Some(amuse) = amuse() else { return };
        install_codes(amuse);
        let (mut python, _) = amuse.python("amuse_dynamics", &[("KYOHO_THREADS", "2")]);
        python.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]);
        let said = succeed(python.arg(root().join("tests/amuse/test_dynamics.py")));
        let said = String::from_utf8(said.stdout).unwrap();
        let passed = said.split(" passed").next().and_then(|text| text.split_whitespace().last()?.parse().ok());
        assert!(passed.is_some_and(|passed: usize| passed > 20), "{said}");
    }
}
