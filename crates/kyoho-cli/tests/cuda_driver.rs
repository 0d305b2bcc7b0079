//! The search for a CUDA driver, and the errors if there is none, with drivers that the tests make.

#[path = "../../../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::{fake_driver, succeed};

/// Runs `kyoho info` with the driver of a folder.
fn info(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kyoho"));
    for name in ["KYOHO_BACKEND", "KYOHO_DEVICES", "GPU_LIST", "CUDA_VISIBLE_DEVICES"] {
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

/// Returns the line of stderr of a call that must fail and print nothing else.
fn refusal(output: &Output) -> String {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(output.stdout.is_empty() && error.trim_end().lines().count() == 1, "{}{error}", text(&output.stdout));
    error
}

#[test]
fn info_lists_the_devices_and_opens_none() {
    let folder = fake_driver("cuda_devices", &[]);
    let output = info(&folder, &[], &[]);
    let page = text(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{}{page}", text(&output.stderr));
    for line in [
        "backend cuda: 2 devices",
        "  0: Fake A, 132 multiprocessors, 80 GiB, compute 9.0, bus 0000:00:00.0",
        "  1: Fake B, 132 multiprocessors, 80 GiB, compute 8.0, bus 0000:01:00.0",
        "in use     backend cuda (the first of cuda, opencl, cpu that has devices; CPUs and PoCL of opencl do not count)",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n is not in\n{page}");
    }
    let output = info(&folder, &["--devices", "0,2"], &[("KYOHO_BACKEND", "cuda")]);
    assert_eq!(refusal(&output), "kyoho: --devices is 'device 2 of backend cuda'; allowed: devices 0 to 1\n");
}

#[test]
fn a_driver_that_cannot_be_used_is_no_backend_and_says_why() {
    let folder = fake_driver("cuda_useless", &[]);
    let incomplete = fake_driver("cuda_incomplete", &["-DWITHOUT_LAUNCH"]);
    for (folder, settings, reason) in [
        (&folder, ("FAKE_CUDA_VERSION", "11080"), "the driver is too old: it supports CUDA 11.8; needed: 12.0"),
        (&folder, ("FAKE_CUDA_DEVICES", "0"), "the driver finds no device"),
        (&folder, ("FAKE_CUDA_INIT", "100"), "the driver finds no device"),
        (&folder, ("FAKE_CUDA_INIT", "999"), "cuInit: CUDA_ERROR_UNKNOWN (999): unknown error"),
        (&folder, ("FAKE_CUDA_INIT", "12345"), "cuInit: error 12345, which the driver has no name for"),
        (&incomplete, ("FAKE_CUDA_DEVICES", "2"), "the driver is too old: its library has no cuLaunchKernelEx"),
    ] {
        let page = text(&info(folder, &[], &[settings]).stdout);
        assert!(page.contains(&format!("backend cuda: none, {reason}\n")), "{reason}\n is not in\n{page}");
        assert!(page.contains("in use     backend cpu"), "{page}");
        let error = refusal(&info(folder, &[], &[settings, ("KYOHO_BACKEND", "cuda")]));
        assert_eq!(error, format!("kyoho: there is no backend 'cuda' here: {reason}\n"));
    }
    let hidden = [("FAKE_CUDA_DEVICES", "0"), ("CUDA_VISIBLE_DEVICES", "-1")];
    let page = text(&info(&folder, &[], &hidden).stdout);
    assert!(page.contains("the driver finds no device (CUDA_VISIBLE_DEVICES is '-1')"), "{page}");
}

/// The library must load on machines without a driver, so it links none of the driver's libraries.
#[test]
fn the_library_is_linked_to_no_driver() {
    let library = std::env::current_exe().unwrap().with_file_name("libkyoho.so");
    let dynamic = text(&succeed(Command::new("readelf").args(["-d", "-W"]).arg(&library)).stdout);
    let needed: Vec<&str> = dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(needed.iter().any(|line| line.contains("libc.so")), "readelf told nothing:\n{dynamic}");
    for line in needed {
        let line = line.to_lowercase();
        assert!(!["cuda", "nvidia", "nvrtc", "opencl"].iter().any(|name| line.contains(name)), "{line}");
    }
}
