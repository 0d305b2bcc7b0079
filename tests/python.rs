//! The wheel of `python/`, installed alone into fresh environments of the oldest and the newest
//! Python that is there, keeps the promises of `python/tests/`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::programs::alone;
use common::{folder, root, succeed};

/// The oldest version that the package is for.
const OLDEST: (u32, u32) = (3, 9);

/// Returns the version of an interpreter, if it runs.
fn version(python: &Path) -> Option<(u32, u32)> {
    let tell = "import sys; print(*sys.version_info[:2])";
    let output = Command::new(python).args(["-c", tell]).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the oldest and the newest Python for the package: of those on the path, and of those
/// that pyenv keeps.
fn interpreters() -> Vec<PathBuf> {
    let mut candidates = vec![PathBuf::from("python3")];
    candidates.extend((OLDEST.1..30).map(|minor| PathBuf::from(format!("python3.{minor}"))));
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let kept = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home);
    let versions = kept.and_then(|folder| std::fs::read_dir(folder.join("versions")).ok());
    candidates.extend(versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin/python3")));
    let mut found: Vec<_> = candidates.into_iter().filter_map(|python| Some((version(&python)?, python))).collect();
    found.retain(|(version, _)| *version >= OLDEST);
    found.sort();
    found.dedup_by_key(|(version, _)| *version);
    let [oldest, .., newest] = &found[..] else { return found.into_iter().map(|(_, python)| python).collect() };
    vec![oldest.1.clone(), newest.1.clone()]
}

/// Makes the wheel from this build. Returns its path.
fn wheel() -> PathBuf {
    let folder = folder("python_wheel");
    let mut make = Command::new("make");
    succeed(make.current_dir(root()).args(["wheel", "PROFILE=dev"]).arg(format!("WHEEL={}", folder.display())));
    let wheels = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let [wheel] = &wheels.collect::<Vec<_>>()[..] else { panic!("not one wheel in {}", folder.display()) };
    wheel.clone()
}

#[test]
fn the_wheel_keeps_its_promises() {
    if std::env::var_os("KYOHO_SKIP_PYTHON").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_PYTHON=1: the Python package was not built and tested");
        return;
    }
    let wheel = wheel();
    let name = wheel.file_name().unwrap().to_str().unwrap();
    let expected = format!("kyoho-{}-py3-none-manylinux_2_", env!("CARGO_PKG_VERSION"));
    assert!(name.starts_with(&expected) && name.ends_with("_x86_64.whl"), "{name}");
    let size = std::fs::metadata(&wheel).unwrap().len();
    // A release has some 300 kilobytes less than this build.
    assert!(size < 12_800_000, "{name} has {size} bytes");

    let interpreters = interpreters();
    assert!(!interpreters.is_empty(), "no Python {}.{} or newer is there", OLDEST.0, OLDEST.1);
    for (number, python) in interpreters.iter().enumerate() {
        let folder = folder(&format!("python_{number}"));
        // Debian's Python cannot give an environment its pip, but its pip can.
        succeed(Command::new(python).args(["-m", "venv", "--without-pip"]).arg(folder.join("venv")));
        let python = folder.join("venv/bin/python");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--quiet", "--disable-pip-version-check"]);
        succeed(pip.arg(&wheel).arg("-r").arg(root().join("python/tests/requirements.txt")));
        let mut tests = alone(Command::new("timeout"));
        tests.args(["--kill-after=10", "600"]).arg(&python).args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        tests.env("PYTHONDONTWRITEBYTECODE", "1").env("KYOHO_BACKEND", "cpu").env("KYOHO_THREADS", "2");
        if number + 1 < interpreters.len() {
            // They take two thirds of the time, and the newest Python runs them.
            tests.arg("--ignore").arg(root().join("python/tests/test_examples.py"));
        }
        let said = succeed(tests.arg(root().join("python/tests")).current_dir(&folder));
        let said = String::from_utf8(said.stdout).unwrap();
        let passed = said.split(" passed").next().and_then(|text| text.split_whitespace().last()?.parse().ok());
        assert!(passed.is_some_and(|passed: usize| passed > 100), "{said}");
    }
}
