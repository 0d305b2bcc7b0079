//! `kyoho verify` runs the suite and reports the outcome.

use kyoho_verify::CHECKS;

/// Runs `kyoho verify`.
fn verify(arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_kyoho"));
    command.arg("verify").args(arguments).output().expect("the command runs")
}

#[test]
fn the_command_runs_the_suite_and_says_so() {
    let choice = "--order 4 --precision double --backend cpu --level portable --bodies 64 --json";
    let output = verify(&choice.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    assert_eq!(report["passed"], true);
    let row = &report["rows"][0];
    assert!(row["checks"].as_u64().expect("a count") >= CHECKS.len() as u64);
    assert!(row["errors"]["acceleration"]["worst"].as_f64().expect("a number") < 5e-15);
}

#[test]
fn the_command_says_what_it_cannot_verify() {
    for (arguments, told) in
        [(["--order", "3"], "allowed: 2, 4, 6, 8"), (["--level", "sse"], "portable"), (["--backend", "abacus"], "cpu")]
    {
        let output = verify(&arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(told), "{arguments:?}: {message}");
    }
}
