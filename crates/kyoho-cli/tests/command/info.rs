//! What `kyoho info` tells, and backends that are not there.

use crate::common::{folder, kyoho};
use crate::failure;

#[test]
fn info_says_what_would_be_used_and_why() {
    let output = kyoho().arg("info").env("KYOHO_THREADS", "3").env("KYOHO_PRECISION", "double").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in [
        "3 (from KYOHO_THREADS)",
        "double (from KYOHO_PRECISION)",
        "backend cpu: 1 device",
        "backend cuda",
        "backend opencl",
        "available: portable",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("unknown"), "{text}");
    let output = kyoho().arg("info").env("KYOHO_DEVICE", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "unknown    KYOHO_DEVICE is set, which nothing reads; the nearest name is KYOHO_DEVICES";
    assert!(text.contains(line), "{text}");
    let output = kyoho().args(["info", "--level", "portable", "--backend", "cpu"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("CPU level  portable") && text.contains("cpu (as was asked for)"), "{text}");
}

/// A page is printed completely or not at all: an error is printed alone.
#[test]
fn info_refuses_what_is_not_there_before_it_prints() {
    let error = failure(1, "info --backend cpu --devices 0,7");
    assert_eq!(error, "kyoho: --devices is 'device 7 of backend cpu'; allowed: devices 0 to 0");
}

/// A user who asks for a missing backend gets the reason and not another backend.
#[test]
fn an_absent_backend_is_an_error_that_says_why() {
    let drivers = folder("no_drivers");
    for (backend, reasons) in
        [("cuda", ["the driver", "cuInit"]), ("opencl", ["the loader's library", "no OpenCL driver is installed"])]
    {
        for arguments in ["info", "run --plummer 10 --t-end 0.125"] {
            // If there are devices, the variable hides them.
            let mut command = kyoho();
            command.args(arguments.split_whitespace()).env("KYOHO_BACKEND", backend);
            command.env("CUDA_VISIBLE_DEVICES", "").env("OCL_ICD_VENDORS", &drivers);
            let output = command.output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{error}");
            assert!(output.stdout.is_empty() && error.trim_end().lines().count() == 1, "{error}");
            let reason = error.strip_prefix(&format!("kyoho: there is no backend '{backend}' here: "));
            let known = reason.is_some_and(|reason| reasons.iter().any(|known| reason.starts_with(known)));
            assert!(known, "{arguments}: {error}");
        }
    }
}
