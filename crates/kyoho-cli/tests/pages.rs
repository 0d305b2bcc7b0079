//! Shells complete the command's words, and `man` has a page of each subcommand.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{folder, kyoho, run};

/// Returns the script for a shell.
fn script(shell: &str) -> String {
    let output = run(&format!("completions {shell}"));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).expect("a text")
}

/// Returns what a shell prints for a text, or nothing if the shell is not there.
fn said_by(shell: &str, file: &Path, text: &str) -> Option<String> {
    let mut command = Command::new(shell);
    command.arg("-c").arg(text.replace("SCRIPT", &file.display().to_string()));
    let output = command.output().ok()?;
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).expect("a text"))
}

#[test]
fn bash_completes_subcommands_and_options() {
    let file = folder("bash").join("kyoho");
    std::fs::write(&file, script("bash")).expect("the script is written");
    for (words, expected) in
        [("kyoho conv", "converge"), ("kyoho run --plum", "--plummer"), ("kyoho model plu", "plummer")]
    {
        let place = words.split(' ').count() - 1;
        let (before, begun) = (words.split(' ').nth(place - 1).unwrap(), words.split(' ').next_back().unwrap());
        let text = format!(
            "source SCRIPT; COMP_WORDS=({words}) COMP_CWORD={place}; _kyoho kyoho {begun} {before}; echo ${{COMPREPLY[*]}}"
        );
        assert_eq!(said_by("bash", &file, &text).expect("bash is there").trim(), expected, "{words}");
    }
}

#[test]
fn fish_completes_subcommands() {
    let file = folder("fish").join("kyoho.fish");
    std::fs::write(&file, script("fish")).expect("the script is written");
    if let Some(said) = said_by("fish", &file, "source SCRIPT; complete -C 'kyoho conv'") {
        assert!(said.starts_with("converge"), "{said}");
    }
}

#[test]
fn zsh_has_a_function_that_it_can_read() {
    let file = folder("zsh").join("_kyoho");
    let text = script("zsh");
    assert!(text.starts_with("#compdef kyoho\n") && text.contains("--plummer"));
    std::fs::write(&file, text).expect("the script is written");
    said_by("zsh", &file, "zsh -n SCRIPT");
}

#[test]
fn other_shells_are_refused() {
    let output = run("completions tcsh");
    let error = String::from_utf8(output.stderr).expect("a text");
    assert!(output.status.code() == Some(2) && error.contains("[possible values: bash, fish, zsh]"), "{error}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = kyoho().args(["completions", "zsh"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_manual_has_a_page_of_each_subcommand() {
    let pages = folder("manual").join("man1");
    let output = run(&format!("manual {}", pages.display()));
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let main = std::fs::read_to_string(pages.join("kyoho.1")).expect("the page of the command");
    let listed: Vec<&str> = main.lines().filter_map(|line| line.strip_suffix("(1)")).collect();
    assert!(listed.len() > 8, "{main}");
    for name in listed {
        let page = std::fs::read_to_string(pages.join(format!("{}.1", name.replace('\\', "")))).expect("a page");
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(std::fs::read_to_string(pages.join("kyoho-run.1")).unwrap().contains("\\-\\-plummer"));
    let beside_a_file = run(&format!("manual {}", pages.join("kyoho.1/x").display()));
    let error = String::from_utf8(beside_a_file.stderr).unwrap();
    assert!(beside_a_file.status.code() == Some(1) && error.contains("kyoho.1/x"), "{error}");
}

/// Help has colours where a terminal reads it, unless the environment says that nobody wants them.
#[test]
fn colours_are_for_terminals_that_want_them() {
    let shown = |no_color: Option<&str>| {
        let mut command = Command::new("script");
        command.args([
            "--quiet",
            "--return",
            "--command",
            &format!("{} --help", env!("CARGO_BIN_EXE_kyoho")),
            "/dev/null",
        ]);
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR").stdin(Stdio::null());
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        String::from_utf8(command.output().expect("util-linux has `script`").stdout).expect("a text")
    };
    assert!(shown(None).contains('\x1b'));
    let plain = shown(Some("1"));
    assert!(plain.contains("Usage: kyoho") && !plain.contains('\x1b'), "{plain}");
    let to_a_file = String::from_utf8(run("--help").stdout).unwrap();
    assert!(!to_a_file.contains('\x1b'));
}
