//! `kyoho run --watch`: a page for browsers of this machine, as long as the run goes on.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{kyoho, run};

/// Begins a run and returns it with the address of its page.
fn watched(arguments: &str) -> (Child, String) {
    let mut command = kyoho();
    command.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("the run can be watched at http://127.0.0.1:");
    let port = address.and_then(|port| port.strip_suffix('/')).unwrap_or_else(|| panic!("{line}"));
    (child, format!("127.0.0.1:{port}"))
}

/// Returns the answer to a request, with its head.
fn answer(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn state(address: &str) -> serde_json::Value {
    let found = answer(address, &format!("GET /state HTTP/1.1\r\nHost: {address}"));
    let (_, body) = found.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {found}"))
}

#[test]
fn a_page_shows_bodies_steps_and_errors_while_a_run_goes_on() {
    let (mut child, address) = watched("run --plummer 300 --eps 0.01 --t-end 1e6 --interval 0.125 --threads 1 --watch");
    let page = answer(&address, &format!("GET / HTTP/1.1\r\nHost: {address}"));
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<canvas"), "{page}");
    let begun = Instant::now();
    let seen = loop {
        let seen = state(&address);
        if seen["errors"].as_array().unwrap().len() > 2 {
            break seen;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{seen}");
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((seen["count"].as_u64(), seen["bodies"].as_array().unwrap().len()), (Some(300), 300));
    assert!(seen["bodies"][7].as_array().unwrap().iter().all(|number| number.as_f64().is_some_and(f64::is_finite)));
    assert!(seen["steps"].as_u64() > seen["block_steps"].as_u64() && seen["block_steps"].as_u64() > Some(0), "{seen}");
    assert!(seen["errors"][1][1].as_f64().unwrap().abs() < 1e-5 && seen["errors"][1][0] == 0.125, "{seen}");
    assert!(seen["title"].as_str().unwrap().contains("300 bodies"), "{seen}");
}

#[test]
fn other_sites_and_other_addresses_get_nothing() {
    let (mut child, address) = watched("run --plummer 30 --eps 0.01 --t-end 1e6 --interval 1 --watch=0");
    let of_others = answer(&address, "GET /state HTTP/1.1\r\nHost: example.org");
    let nowhere = answer(&address, &format!("GET /etc/passwd HTTP/1.1\r\nHost: {address}"));
    let written = answer(&address, &format!("POST /state HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(of_others.starts_with("HTTP/1.1 403") && !of_others.contains("bodies"), "{of_others}");
    assert!(nowhere.starts_with("HTTP/1.1 404") && written.starts_with("HTTP/1.1 404"), "{nowhere} {written}");
}

#[test]
fn requests_with_bodies_of_any_length_end_no_run_and_hold_nobody_up() {
    let (mut child, address) = watched("run --plummer 30 --eps 0.01 --t-end 1e6 --interval 1 --watch=0");
    // The page is there before the bodies are.
    let begun = Instant::now();
    while state(&address)["count"] != 30 {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    let mut streams = Vec::new();
    for (request, length) in [("GET /", 99_999_999_999u64), ("POST /state", u64::MAX), ("GET /state", 3_000)] {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\nabc").unwrap();
        streams.push(stream);
    }
    assert_eq!(state(&address)["count"], 30);
    drop(streams);
    assert_eq!(state(&address)["count"], 30);
    assert_eq!(child.try_wait().unwrap(), None, "the run goes on");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_page_ends_with_the_run_and_leaves_its_report_alone() {
    let (mut child, address) = watched("run --plummer 30 --eps 0.01 --t-end 0.25 --watch --json");
    assert!(child.wait().unwrap().success());
    assert!(TcpStream::connect(&address).is_err());
    let of = |options: &str| run(&format!("run --plummer 30 --eps 0.01 --t-end 0.25 {options}"));
    let (with, without) = (of("--watch"), of(""));
    let energies = |output: &std::process::Output| {
        String::from_utf8(output.stdout.clone()).unwrap().lines().take(20).map(String::from).collect::<Vec<_>>()
    };
    assert!(with.status.success() && energies(&with) == energies(&without));
}

#[test]
fn a_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = run(&format!("run --plummer 30 --watch={port}"));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains(&format!("--watch is port {port}")) && message.contains("a free port"), "{message}");
}

/// The options of a browser without a screen or a user.
const ALONE: [&str; 6] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--virtual-time-budget=2000",
];

#[test]
#[ignore = "it needs Debian's chromium, which make test-all installs"]
fn a_browser_shows_the_run() {
    let (mut child, address) = watched("run --plummer 300 --eps 0.01 --t-end 1e6 --interval 0.125 --threads 1 --watch");
    let mut browser = Command::new("chromium");
    let profile = format!("--user-data-dir={}", common::folder("profile").display());
    let output = browser.args(ALONE).args([&profile, "--dump-dom", &format!("http://{address}/")]).output();
    child.kill().unwrap();
    child.wait().unwrap();
    let output = output.expect("there is chromium");
    let page = String::from_utf8_lossy(&output.stdout);
    let numbers = page.lines().find(|line| line.contains("id=\"numbers\"")).unwrap_or_else(|| panic!("{page}"));
    assert!(numbers.contains(" of 1.00000e+6, ") && numbers.contains(" steps in "), "{numbers}");
    assert!(page.contains("<h1 id=\"title\">300 bodies, Hermite 4"), "{page}");
}
