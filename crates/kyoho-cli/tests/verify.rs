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

#[test]
fn everything_is_one_page_that_says_what_was_run_and_what_not() {
    let choice = "--everything --backend cpu --order 4 --precision double --level portable --check self";
    let output = verify(&choice.split(' ').collect::<Vec<_>>());
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{page}{}", String::from_utf8_lossy(&output.stderr));
    let line = |begin: &str| {
        let found = page.lines().find(|line| line.trim_start().starts_with(begin));
        found.unwrap_or_else(|| panic!("there is no line '{begin}' in\n{page}"))
    };
    let checks = line("4  double     full").split_whitespace().last().expect("a cell");
    assert!(checks.parse::<usize>().expect("a count") > 0, "{page}");
    assert!(line("gpu_small cpu 4 3").ends_with("passed 1"), "{page}");
    for program in ["gpu_small cuda", "gpu_small opencl", "gpu_arrays", "gpu_failure", "racecheck gpu_small"] {
        assert!(line(program).contains("not run: it is for backend"), "{page}");
    }
    assert!(line("0 of").contains("checks and 0 of 1 programs failed; 9 programs were not run."), "{page}");
}

#[test]
fn a_program_that_cannot_be_run_as_it_should_is_told_and_one_that_fails_is_an_error() {
    let choice = "--everything --backend cpu --order 4 --precision double --level portable --check self --library";
    let mut words: Vec<&str> = choice.split(' ').collect();
    words.push("/nowhere/libkyoho.so");
    let output = verify(&words);
    let page = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{page}");
    assert!(page.contains("FAILED gpu_small cpu 4 3:") && page.contains("/nowhere/libkyoho.so"), "{page}");
    assert!(page.trim_end().ends_with("1 of 1 programs failed; 9 programs were not run."), "{page}");
}
