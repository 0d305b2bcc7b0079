//! The libraries that give plain old names to functions of libkyoho, each with a header.

mod common;

use std::collections::BTreeSet;
use std::process::Command;

use common::{folder, interface_number, link_forward, link_library, succeed, text};

/// Returns the functions that a header declares.
fn declared(header: &str) -> BTreeSet<String> {
    let lines = text(header);
    lines.lines().filter_map(|line| Some(line.strip_prefix("int ")?.split_once('(')?.0.to_string())).collect()
}

#[test]
fn a_library_has_the_names_of_its_header_and_no_other() {
    let folder = folder("forward_symbols");
    link_library(&folder);
    for (forward, functions) in [("sapporo6", 7), ("yebisu", 10), ("nbody6", 6), ("nbody6pp", 7)] {
        link_forward(&folder, forward);
        let library = folder.join(format!("libkyoho_{forward}.so"));
        let said = |command: &str, arguments: &[&str]| {
            String::from_utf8(succeed(Command::new(command).args(arguments).arg(&library)).stdout).unwrap()
        };
        let names = |arguments: &[&str]| -> BTreeSet<String> {
            let table = said("nm", arguments);
            table.lines().filter_map(|line| Some(line.split_whitespace().last()?.to_string())).collect()
        };
        let declared = declared(&format!("include/{forward}.h"));
        assert_eq!(declared.len(), functions);
        assert_eq!(names(&["-D", "--defined-only"]), declared);
        let prefixed: BTreeSet<String> = declared.iter().map(|name| format!("kyoho_{forward}_{name}")).collect();
        let called = names(&["-D", "--undefined-only"]);
        let called: BTreeSet<String> = called.into_iter().filter(|name| !name.starts_with("_")).collect();
        assert_eq!(called.iter().filter(|name| !name.contains('@')).cloned().collect::<BTreeSet<_>>(), prefixed);
        let dynamic = said("readelf", &["-d"]);
        let names = ["libkyoho", &format!("libkyoho_{forward}")];
        let names = names.map(|name| format!("[{name}.so.{}]", interface_number()));
        for part in names.into_iter().chain(["[$ORIGIN]".into()]) {
            assert!(dynamic.contains(&part), "{part} is not in\n{dynamic}");
        }
    }
}
