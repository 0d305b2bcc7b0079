//! Files in HDF5, which Python reads and writes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{folder, run};
use crate::{json, rows};

/// Returns a Python that has h5py: the machine's, or else one made from PyPI's packages, which
/// stays for later runs. Returns none if `KYOHO_SKIP_AMUSE=1` says that they cannot be fetched.
fn python_with_h5py() -> Option<PathBuf> {
    let has_h5py = |python: &Path| {
        let mut python = Command::new(python);
        python.args(["-c", "import h5py"]).output().is_ok_and(|output| output.status.success())
    };
    if has_h5py(Path::new("python3")) {
        return Some("python3".into());
    }
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("h5py");
    let python = environment.join("bin/python");
    if has_h5py(&python) {
        return Some(python);
    }
    if std::env::var_os("KYOHO_SKIP_AMUSE").is_some_and(|value| value == "1") {
        eprintln!("KYOHO_SKIP_AMUSE=1: snapshots were not read by h5py");
        return None;
    }
    let succeed = |command: &mut Command| {
        let output = command.output().expect("python3 is there");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    // Debian's Python cannot put pip into an environment, but its own pip can install into one.
    succeed(Command::new("python3").args(["-m", "venv", "--clear", "--without-pip"]).arg(&environment));
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"]).arg(&python).args(["install", "--quiet", "--disable-pip-version-check"]);
    succeed(pip.args(["--timeout", "30", "h5py==3.16.0"]));
    Some(python)
}

#[test]
fn h5py_reads_snapshots_and_writes_inputs() {
    let Some(python) = python_with_h5py() else { return };
    let folder = folder("h5py");
    let python = |script: &str| {
        let output = Command::new(&python).current_dir(&folder).args(["-c", script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for format in ["text", "hdf5"] {
        let settings = format!("--backend cpu --order 6 --eps 0.1 --t-end 0.25 --format {format}");
        json(&format!("run --plummer 20 {settings} --output {}", folder.join(format).display()));
    }
    let text = rows(&folder.join("text/snapshot-000016.txt"));
    let read = python(
        "import h5py\n\
         with h5py.File('hdf5/snapshot-000016.h5', 'r') as file:\n\
         \x20   assert file.attrs['time'] == 0.25 and file.attrs['precision'] == b'mixed'\n\
         \x20   vectors = ['positions', 'velocities', 'accelerations', 'jerks', 'snaps', 'crackles']\n\
         \x20   assert sorted(file) == sorted(vectors + ['masses', 'steps'])\n\
         \x20   for body in range(file.attrs['bodies']):\n\
         \x20       row = [file['masses'][body], *[x for name in vectors for x in file[name][body]], file['steps'][body]]\n\
         \x20       print(*[repr(float(x)) for x in row])\n",
    );
    let read: Vec<Vec<f64>> =
        read.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
    assert_eq!(read, text);
    // Bodies of subsystems stand around centres of mass.
    let binary = "0.5 0 0 0 0 0 0\n0.5 1e-4 0 0 0 100 0\n0.1 1 0 0 0 1 0\n";
    std::fs::write(folder.join("binary.txt"), binary).unwrap();
    let input = folder.join("binary.txt").display().to_string();
    let to = folder.join("close").display().to_string();
    json(&format!("run {input} --backend cpu --subsystems 0.001 --t-end 0.1 --format hdf5 --output {to}"));
    python(
        "import h5py\n\
         with h5py.File('close/snapshot-000016.h5', 'r') as file:\n\
         \x20   assert file.attrs['subsystems'] == 1 and file.attrs['subsystem-radius'] == 0.001\n\
         \x20   assert file['subsystem_sizes'][:].tolist() == [2] and file['subsystem_masses'][0] == 1\n\
         \x20   assert file['subsystem_members'][:].tolist() == [1, 2]\n\
         \x20   for name in ['positions', 'velocities']:\n\
         \x20       around = file['subsystem_' + name][0] + file['subsystem_member_' + name][:]\n\
         \x20       assert (around == file[name][:2]).all()\n",
    );
    // Numbers of more bodies stand in several chunks, and sizes of chunks in one byte or in two.
    for bodies in [255, 256, 70_000] {
        run(&format!("model random {bodies} --format hdf5 --output {}", folder.join("many.h5").display()));
        let shapes = python(
            "import h5py\n\
             with h5py.File('many.h5', 'r') as file:\n\
             \x20   print(*[file[name][:].shape for name in ['masses', 'positions', 'velocities']])\n",
        );
        assert_eq!(shapes.trim(), format!("({bodies},) ({bodies}, 3) ({bodies}, 3)"));
    }
    // A file that h5py writes is an input if it has a mass, a position and a velocity for each
    // body.
    python(
        "import h5py\n\
         with h5py.File('model.h5', 'w') as file:\n\
         \x20   file['masses'] = [1.0, 1.0]\n\
         \x20   file['positions'] = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]\n\
         \x20   file.create_dataset('velocities', data=[[0, 0.5, 0], [0, -0.5, 0]], dtype='f4', compression=None)\n",
    );
    std::fs::write(folder.join("model.txt"), "1 1 0 0 0 0.5 0\n1 -1 0 0 0 -0.5 0\n").unwrap();
    let [hdf5, text] = ["model.h5", "model.txt"].map(|input| {
        json(&format!("run {} --backend cpu --precision double", folder.join(input).display()))["energies"].clone()
    });
    assert_eq!(hdf5, text);
}
