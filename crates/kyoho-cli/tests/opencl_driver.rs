//! The search for OpenCL devices, and the errors if there are none, with loaders that the tests
//! make.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{folder, root, succeed};

/// The name under which the library opens the loader.
const LOADER: &str = "libOpenCL.so.1";

/// Builds the loader of `c_tests` into a folder.
fn build_loader(folder: &Path, options: &[&str]) {
    let source = root().join("c_tests/fake_opencl.c");
    let build = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"];
    succeed(Command::new("gcc").args(build).args(options).arg("-o").arg(folder.join(LOADER)).arg(source));
}

/// Returns a folder that belongs to one test and has the loader, for `LD_LIBRARY_PATH`.
fn fake_loader(name: &str, options: &[&str]) -> PathBuf {
    let folder = folder(name);
    build_loader(&folder, options);
    folder
}

/// Runs `kyoho info` with the loader of a folder.
fn info(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
    for name in
        ["KYOHO_BACKEND", "KYOHO_DEVICES", "GPU_LIST", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"]
    {
        command.env_remove(name);
    }
    command
        .arg("info")
        .args(arguments)
        .env("COLUMNS", "1000")
        .env("LD_LIBRARY_PATH", folder)
        .envs(settings.iter().copied());
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the page of a call that must succeed and write nothing to stderr.
fn page(output: &Output) -> String {
    let page = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{}{page}", text(&output.stderr));
    page
}

/// Returns the library's error when it is asked for OpenCL with this loader and these settings.
fn refusal(folder: &Path, settings: &[(&str, &str)]) -> String {
    let output = info(folder, &[], &[settings, &[("KYOHO_BACKEND", "opencl")]].concat());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(output.stdout.is_empty() && error.trim_end().lines().count() == 1, "{}{error}", text(&output.stdout));
    let reason =
        error.trim_end().strip_prefix("kyoho: there is no backend 'opencl' here: ").unwrap_or(&error).to_owned();
    // A user who did not ask for OpenCL gets no error.
    assert!(page(&info(folder, &[], settings)).contains(&format!("backend opencl: none, {reason}\n")));
    reason
}

#[test]
fn devices_stand_in_the_order_of_kind_and_platform() {
    let folder = fake_loader("opencl_devices", &[]);
    let devices = [("FAKE_OPENCL", "cpu,gpu;-;gpu-double,card,gpu;!;cpu")];
    let page = page(&info(&folder, &[], &devices));
    let expected = "backend opencl: 5 devices
  0: Fake A1, 132 compute units, 80 GiB, OpenCL 3.0, Platform A
     every order and precision; driver 1.2.3
  1: Fake C2, 132 compute units, 80 GiB, OpenCL 3.0, Platform C
     every order and precision; driver 1.2.3
  2: Fake C1, 132 compute units, 80 GiB, OpenCL 3.0, Platform C
     every order and precision; driver 1.2.3
  3: Fake A0, 132 compute units, 80 GiB, OpenCL 3.0, Platform A
     a CPU, only where it is asked for: every order and precision; driver 1.2.3
  4: Fake E0, 132 compute units, 80 GiB, OpenCL 3.0, Platform E
     a CPU, only where it is asked for: every order and precision; driver 1.2.3
  cannot: Fake C0: it has no 64-bit floating point (cl_khr_fp64)
  cannot: Platform D: clGetDeviceIDs: error -9999, which OpenCL has no name for\n";
    assert!(page.contains(expected), "{expected}\n is not in\n{page}");
    let output = info(&folder, &["--devices", "0,5"], &[devices[0], ("KYOHO_BACKEND", "opencl")]);
    let error = text(&output.stderr);
    assert_eq!(error, "kyoho: --devices is 'device 5 of backend opencl'; allowed: devices 0 to 4\n");
}

#[test]
fn where_none_is_named_devices_of_one_kind_and_one_platform_are_taken() {
    let folder = fake_loader("opencl_alike", &[]);
    let (one, two) = ("1 device: device 0\n", "2 devices: devices 0, 1\n");
    for (devices, taken) in
        [("gpu;gpu,gpu", one), ("gpu,cpu,gpu;gpu", two), ("cpu,cpu;cpu", two), ("card;gpu;gpu", one)]
    {
        let settings = [("FAKE_OPENCL", devices), ("KYOHO_BACKEND", "opencl")];
        let page = page(&info(&folder, &["--devices", "all"], &settings));
        assert!(page.contains(&format!("devices    --devices asks for all of {taken}")), "{devices}: {page}");
    }
}

#[test]
fn devices_that_cannot_compute_are_named_and_why() {
    let folder = fake_loader("opencl_useless", &[]);
    for (device, reason) in [
        ("gpu-double", "it has no 64-bit floating point (cl_khr_fp64)"),
        ("gpu-off", "it is not available"),
        ("gpu-compiler", "it has no compiler"),
        ("gpu-big", "it is big-endian"),
        ("gpu-32", "its addresses have 32 bits; needed: 64"),
        ("gpu-threads", "its groups have at most 128 threads; needed: 256"),
        ("gpu-local", "its groups have 32768 bytes of local memory; needed: 49152"),
        ("gpu-old", "it has OpenCL 1.1; needed: 1.2"),
        ("odd", "it is neither GPU, accelerator nor CPU (type 0x10)"),
    ] {
        let expected = format!("no OpenCL device can compute (Fake A0: {reason})");
        assert_eq!(refusal(&folder, &[("FAKE_OPENCL", device)]), expected);
    }
    assert_eq!(
        refusal(&folder, &[("FAKE_OPENCL", "!;gpu-off,cpu-double")]),
        "no OpenCL device can compute (Platform A: clGetDeviceIDs: error -9999, which OpenCL has no name for; \
         Fake B0: it is not available; Fake B1: it has no 64-bit floating point (cl_khr_fp64))"
    );
    assert_eq!(refusal(&folder, &[("FAKE_OPENCL", "-")]), "OpenCL finds no device");
}

#[test]
fn a_loader_without_platforms_says_so() {
    let folder = fake_loader("opencl_platforms", &[]);
    let none = "no OpenCL driver is installed: the loader finds no platform";
    assert_eq!(refusal(&folder, &[]), none);
    assert_eq!(refusal(&folder, &[("FAKE_OPENCL_CODE", "-1001")]), none);
    let hidden = refusal(&folder, &[("OCL_ICD_VENDORS", "/nowhere")]);
    assert_eq!(hidden, format!("{none} (OCL_ICD_VENDORS is '/nowhere')"));
    for (code, said) in [("-6", "CL_OUT_OF_HOST_MEMORY (-6)"), ("-12345", "error -12345, which OpenCL has no name for")]
    {
        assert_eq!(refusal(&folder, &[("FAKE_OPENCL_CODE", code)]), format!("clGetPlatformIDs: {said}"));
    }
}

#[test]
fn a_loader_that_cannot_be_used_says_why() {
    let broken = folder("opencl_broken");
    std::fs::write(broken.join(LOADER), "no library").unwrap();
    let reason = refusal(&broken, &[]);
    assert!(reason.starts_with("the loader's library cannot be opened: ") && reason.contains(LOADER), "{reason}");
    let old = fake_loader("opencl_old", &["-DWITHOUT_FILL_BUFFER"]);
    let reason = refusal(&old, &[("FAKE_OPENCL", "gpu")]);
    assert_eq!(reason, "the loader is too old: its library has no clEnqueueFillBuffer");
}

/// The process that looks for a loader is a second one of this test, because the system reads
/// `LD_LIBRARY_PATH` only once.
#[test]
fn a_loader_that_is_missing_at_first_is_found_later() {
    const FOLDER: &str = "KYOHO_TEST_LOADER_COMES_LATER";
    let Some(place) = std::env::var_os(FOLDER) else {
        let folder = folder("opencl_later");
        std::fs::write(folder.join(LOADER), "no library").unwrap();
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "a_loader_that_is_missing_at_first_is_found_later"]);
        again.env("LD_LIBRARY_PATH", &folder).env(FOLDER, &folder).env("FAKE_OPENCL", "gpu");
        succeed(&mut again);
        return;
    };
    let error = kyoho_hal::opencl::describe().unwrap_err().to_string();
    assert!(error.contains("cannot be opened"), "{error}");
    std::fs::remove_file(Path::new(&place).join(LOADER)).unwrap();
    build_loader(Path::new(&place), &[]);
    assert_eq!(kyoho_hal::opencl::describe().unwrap()[0].name, "Fake A0");
}
