//! The Python package has a copy of the tables of names.

use std::fmt::Write;
use std::path::Path;

use kyoho_files::{formats, names::*};

/// Returns a tuple of Python with these items.
fn tuple(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    let comma = if items.len() == 1 { "," } else { "" };
    format!("({}{comma})", items.join(", "))
}

fn text(text: &str) -> String {
    format!("{text:?}")
}

fn words(words: &[&str]) -> String {
    tuple(words.iter().map(|word| text(word)))
}

/// Returns a tuple whose items have a line each.
fn lines(items: impl IntoIterator<Item = String>) -> String {
    let items: String = items.into_iter().map(|item| format!("    {item},\n")).collect();
    format!("(\n{items})")
}

fn bytes(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b' '..=b'~' => (*byte as char).to_string(),
        other => format!("\\x{other:02x}"),
    };
    format!("b\"{}\"", bytes.iter().map(one).collect::<String>())
}

fn written() -> String {
    let mut file = String::from(
        "\"\"\"The names that other codes give to what is read. The test `names` of crates/kyoho-files writes this\n\
         file from the tables there.\n\"\"\"\n\n",
    );
    let mut put = |name: &str, value: String| writeln!(file, "{name} = {value}").unwrap();
    put("COLUMNS", lines(COLUMNS.iter().map(|names| words(names))));
    put("SOFTENINGS", words(SOFTENINGS));
    put("NO_UNITS", words(NO_UNITS));
    put("GADGET_TYPES", lines(GADGET_TYPES.iter().map(|name| text(name))));
    put("GADGET_POSITIONS", words(GADGET_POSITIONS));
    put("GADGET_VELOCITIES", words(GADGET_VELOCITIES));
    put("GADGET_MASSES", words(GADGET_MASSES));
    put("GADGET_IDENTIFIERS", words(GADGET_IDENTIFIERS));
    put("GADGET_UNITS", lines(GADGET_UNITS.iter().map(|names| words(names))));
    put("GADGET_COSMOLOGICAL", lines(GADGET_COSMOLOGICAL.iter().map(|names| words(names))));
    put("GADGET_HUBBLE", words_of_pairs(GADGET_HUBBLE));
    put("AMUSE_SETS", words(AMUSE_SETS));
    put("AMUSE_ATTRIBUTES", words(&AMUSE_ATTRIBUTES));
    put("OTHERS", lines(OTHERS.iter().map(|(beginning, what)| tuple([bytes(beginning), text(what)]))));
    put(
        "FORMATS",
        format!("(\n{})", formats().split_inclusive("; ").map(|part| format!("    {part:?}\n")).collect::<String>()),
    );
    file
}

fn words_of_pairs(pairs: &[[&str; 2]]) -> String {
    tuple(pairs.iter().map(|pair| words(pair)))
}

#[test]
fn the_package_of_python_has_the_same_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/kyoho/_file_names.py");
    if std::env::var_os("KYOHO_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, written()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(found == written(), "KYOHO_BLESS=1 cargo test -p kyoho-files --test names writes {}", path.display());
}
