//! PoCL, the OpenCL driver for CPUs, on which the OpenCL backend is tested.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::alone;

/// The file by which the loader finds PoCL.
const DRIVER: &str = "/etc/OpenCL/vendors/pocl.icd";

/// Returns a folder for the tests of OpenCL. It stays for later runs, because drivers compile for
/// seconds.
fn kept(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencl").join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The files that the library and PoCL keep on disk stay below the folder of the build.
pub fn keep_below_target(command: &mut Command) -> &mut Command {
    command.env("POCL_CACHE_DIR", kept("pocl")).env("KYOHO_CACHE_DIR", kept("programs"))
}

/// Lets a program see PoCL's devices and no others, and of the library's variables only these.
pub fn on_pocl(command: Command, variables: &[(&str, &str)]) -> Command {
    let (vendors, driver) = (kept("vendors"), kept("vendors").join("pocl.icd"));
    // Tests that run side by side write the same content there.
    let _ = std::os::unix::fs::symlink(DRIVER, &driver);
    assert!(driver.exists(), "there is no {DRIVER}: run 'make test-tools'");
    let mut command = alone(command);
    for name in ["GPU_LIST", "POCL_DEVICES", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"] {
        command.env_remove(name);
    }
    keep_below_target(&mut command).env("OCL_ICD_VENDORS", vendors).env("CUDA_VISIBLE_DEVICES", "");
    command.envs(variables.iter().copied());
    command
}

/// Does as [`on_pocl`] does, and makes the OpenCL backend compute all blocks.
pub fn by_opencl(command: Command, variables: &[(&str, &str)]) -> Command {
    let chosen = [("KYOHO_BACKEND", "opencl"), ("KYOHO_CROSSOVER", "off")];
    on_pocl(command, &[&chosen, variables].concat())
}
