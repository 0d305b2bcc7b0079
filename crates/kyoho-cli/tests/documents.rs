//! Command lines of the documents: each is understood, and does what its page shows, with fewer
//! bodies where that takes long.
//!
//! Blocks of code of the language `sh` have all command lines. Those of this command run one after
//! another in a folder of the page. Lines that name a backend of GPUs are read and not run. Programs
//! of others are named below, so that a line that nobody thought of is found.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::error::ErrorKind;
use common::folder;

/// The programs of others in command lines, and words of the shell. `kyoho-figures` is a crate of its
/// own.
const OTHERS: [&str; 29] = [
    "./configure",
    "./nbody.out",
    "Build/nbody6",
    "ar",
    "cargo",
    "cc",
    "cd",
    "echo",
    "export",
    "g++",
    "gfortran",
    "kira",
    "kyoho-figures",
    "make",
    "mkdir",
    "mpicc",
    "mpirun",
    "mypy",
    "nbody6++...",
    "nvidia-cuda-mps-control",
    "pip",
    "pipx",
    "printf",
    "python",
    "python3",
    "rattler-build",
    "sed",
    "touch",
    "ulimit",
];

/// The languages of blocks without command lines; in those without a language is output.
const LANGUAGES: [&str; 5] = ["", "c", "fortran", "make", "python"];

/// The subcommands.
const SUBCOMMANDS: [&str; 10] =
    ["info", "verify", "bench", "run", "few-body", "converge", "model", "pair", "picture", "plummer"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Returns the pages below a folder. The list of changes tells of older versions.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_folder = entry.file_type().expect("a type").is_dir();
        if is_folder && name != "target" && !name.starts_with('.') {
            found.extend(pages(&path));
        } else if name.ends_with(".md") && name != "CHANGELOG.md" {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The blocks of code of a page with their languages, and what stands between them.
struct Page {
    name: String,
    blocks: Vec<(String, String)>,
    prose: String,
}

impl Page {
    fn read(path: &Path) -> Page {
        let name = path.strip_prefix(root()).expect("a page of the repository").display().to_string();
        let (mut blocks, mut prose, mut is_inside) = (Vec::new(), String::new(), false);
        for line in std::fs::read_to_string(path).expect("a page").lines() {
            match (line.strip_prefix("```"), is_inside) {
                // A second word says what the block needs, such as a GPU.
                (Some(language), false) => {
                    let language = language.split(' ').next().unwrap_or_default();
                    blocks.push((language.to_string(), String::new()));
                }
                (Some(_), true) => (),
                (None, _) => {
                    let text = if is_inside { &mut blocks.last_mut().expect("a block").1 } else { &mut prose };
                    text.push_str(line);
                    text.push('\n');
                    continue;
                }
            }
            is_inside = !is_inside;
        }
        assert!(!is_inside, "{name}: a block has no end");
        Page { name, blocks, prose }
    }

    /// Returns the command lines without comments, those that go on in the next line as one.
    fn lines(&self) -> Vec<String> {
        let blocks = self.blocks.iter().filter(|(language, _)| language == "sh");
        let joined = blocks.map(|(_, text)| text.replace("\\\n", " ")).collect::<String>();
        let without_comment = |line: &str| line.split(" #").next().unwrap_or("").trim().to_string();
        joined.lines().filter(|line| !line.starts_with('#')).map(without_comment).filter(|l| !l.is_empty()).collect()
    }

    /// Returns the code in the prose that is a call of this command.
    fn calls_in_prose(&self) -> Vec<Vec<String>> {
        let spans = self.prose.split('`').skip(1).step_by(2);
        let words = spans.map(words_of);
        words.filter(|words| is_call(words)).collect()
    }
}

/// Whether words call a subcommand of this command.
fn is_call(words: &[String]) -> bool {
    matches!(words, [program, subcommand, ..] if program == "kyoho" && SUBCOMMANDS.contains(&&**subcommand))
}

/// Returns the words of a command line that call this command, which may come from cargo, or be that of
/// ranks.
fn call(line: &str) -> Option<Vec<String>> {
    let call = line.split(" > ").next().unwrap_or(line);
    let call =
        call.strip_prefix("cargo run --release --bin kyoho -- ").map_or(call.into(), |rest| format!("kyoho {rest}"));
    // Tests of MPI run it by ranks; what it does is the same.
    let of_ranks = call.strip_prefix("mpirun ").and_then(|call| call.split_once(" kyoho-mpi "));
    let call = of_ranks.map_or(call.clone(), |(_, rest)| format!("kyoho {rest}"));
    let words = words_of(&call);
    is_call(&words).then_some(words)
}

/// Returns the words of a line. One in quotation marks may have spaces.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut is_quoted, mut is_new) = (Vec::<String>::new(), false, true);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            _ if letter.is_whitespace() && !is_quoted => is_new = true,
            _ if is_new => {
                words.push(letter.into());
                is_new = false;
            }
            _ => words.last_mut().expect("a word").push(letter),
        }
    }
    words
}

/// Returns a line of the shell with these words.
fn line_of(words: &[String]) -> String {
    let quoted = words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns a command line without the variables that are set before its program.
fn without_variables(line: &str) -> &str {
    let mut rest = line;
    while let Some((name, value)) = rest.split_once('=') {
        if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            break;
        }
        let (value, end) = value.strip_prefix('"').map_or((value, ' '), |quoted| (quoted, '"'));
        rest = value.split_once(end).map_or("", |(_, rest)| rest).trim_start();
    }
    rest
}

/// Returns why the command does not understand words.
fn misunderstood(words: &[String]) -> Option<clap::Error> {
    kyoho_cli::check(words.iter().map(Into::into)).err()
}

/// Gives an option another value, or adds it.
fn set(words: &mut Vec<String>, option: &str, value: &str) {
    match words.iter().position(|word| word == option) {
        Some(place) => words[place + 1] = value.into(),
        None => words.extend([option, value].map(String::from)),
    }
}

/// Makes a call small enough for a test.
fn smaller(mut words: Vec<String>) -> Vec<String> {
    let has = |words: &[String], option: &str| words.iter().any(|word| word == option);
    let subcommand = words[1].clone();
    let of_subcommand: &[(&str, &str)] = match &*subcommand {
        "verify" if has(&words, "--everything") => &[("--level", "portable"), ("--order", "4"), ("--backend", "cpu")],
        "verify" => &[("--bodies", "16"), ("--order", "4"), ("--backend", "cpu")],
        "bench" => &[("--seconds", "0.0005"), ("--threads", "1")],
        "run" if has(&words, "--plummer") => &[("--plummer", "16")],
        "run" if has(&words, "examples/plummer1024.txt") => &[("--t-end", "0.03125")],
        "run" if has(&words, "--eta") => &[("--eta", "0.05")],
        "converge" => &[("--n", "16"), ("--halvings", "2")],
        "model" if has(&words, "cosmological-sphere") => &[("--grid", "6")],
        _ => &[],
    };
    of_subcommand.iter().for_each(|(option, value)| set(&mut words, option, value));
    match &*subcommand {
        "verify" if has(&words, "--everything") => {
            set(&mut words, "--precision", "double");
            set(&mut words, "--check", "self");
        }
        "verify" if !has(&words, "--table-only") => words.push("--table-only".into()),
        "bench" if has(&words, "--lists") => set(&mut words, "--groups", "1"),
        "bench" if has(&words, "--batch") => {
            set(&mut words, "--n", "3,8");
            set(&mut words, "--systems", "2");
        }
        "bench" => {
            set(&mut words, "--n", "60");
            if has(&words, "--speedup") {
                set(&mut words, "--devices", "0,0");
            }
        }
        "model" | "plummer" if !has(&words, "--grid") && !has(&words, "two-clusters") => {
            // A number of bodies that every model can have.
            let few = "36".to_string();
            match words[2..].iter_mut().take(2).find(|word| word.parse::<u32>().is_ok()) {
                Some(bodies) => *bodies = few,
                None => words.push(few),
            }
        }
        _ => (),
    }
    words
}

/// Runs the command lines of a page in a folder that has the examples and the files that the page
/// describes.
fn run(page: &Page) {
    let scratch = folder(&page.name.replace('/', "-"));
    std::os::unix::fs::symlink(root().join("examples"), scratch.join("examples")).expect("a link");
    std::fs::write(scratch.join("sinks.txt"), "0 0 0 1\n1 0 0 2\n").expect("a file");
    std::fs::write(scratch.join("sources.txt"), "0 0 0 1 1\n1 0 0 1 2\n").expect("a file");
    let program = Path::new(env!("CARGO_BIN_EXE_kyoho"));
    let path =
        format!("{}:{}", program.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    for line in page.lines() {
        let Some(words) = call(&line) else { continue };
        if ["cuda", "opencl"].iter().any(|backend| words.iter().any(|word| word == backend)) {
            continue;
        }
        let output = line.split_once(" > ").map_or(String::new(), |(_, file)| format!(" > {file}"));
        let shown = line_of(&smaller(words)) + &output;
        let mut shell = Command::new("sh");
        shell.args(["-c", &shown]).current_dir(&scratch).env("PATH", &path);
        let output = shell.env("KYOHO_BACKEND", "cpu").env("KYOHO_THREADS", "1").output().expect("a shell");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {line}\nas {shown}\n{error}", page.name);
    }
}

#[test]
fn command_lines_do_what_their_page_shows() {
    let pages: Vec<Page> = pages(&root()).iter().map(|path| Page::read(path)).collect();
    let calls: usize = pages.iter().map(|page| page.lines().iter().filter(|line| call(line).is_some()).count()).sum();
    assert!(pages.len() > 10 && calls > 50, "{} pages with {calls} calls", pages.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = pages.iter().map(|page| scope.spawn(|| run(page))).collect();
        threads.into_iter().for_each(|thread| thread.join().expect("the lines of a page run"));
    });
}

#[test]
fn every_command_line_is_understood_and_none_is_unknown() {
    for page in pages(&root()).iter().map(|path| Page::read(path)) {
        for line in page.lines() {
            if let Some(words) = call(&line) {
                assert!(misunderstood(&words).is_none(), "{}: {line}\n{}", page.name, misunderstood(&words).unwrap());
                continue;
            }
            // A line may do no more than set variables.
            let program = without_variables(&line).split_whitespace().next().unwrap_or("export");
            let is_known = OTHERS.contains(&program) || root().join(program).exists() || program.starts_with("./");
            assert!(is_known, "{}: {line}\nis no call of kyoho; name its program here if it is another", page.name);
        }
        for (language, text) in &page.blocks {
            let is_known = language == "sh" || LANGUAGES.contains(&&**language);
            assert!(is_known, "{}: a block of the language '{language}', which this test does not know", page.name);
            let first = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
            let hidden = text.lines().find(|line| language != "sh" && is_call(&first(line)));
            assert!(hidden.is_none(), "{}: {hidden:?} stands in a block that is not of sh", page.name);
        }
    }
}

/// Texts of pair interactions compile.
#[test]
fn pair_interactions_compile() {
    let mut found = 0;
    for page in pages(&root()).iter().map(|path| Page::read(path)) {
        for (_, text) in page.blocks.iter().filter(|(_, text)| text.starts_with("pair ")) {
            let file = folder(&format!("text_{found}")).join("text.pair");
            std::fs::write(&file, text).expect("a file");
            let output = Command::new(env!("CARGO_BIN_EXE_kyoho")).args(["pair", "explain"]).arg(file).output();
            let output = output.expect("the command");
            assert!(output.status.success(), "{}: {}", page.name, String::from_utf8_lossy(&output.stderr));
            found += 1;
        }
    }
    assert!(found > 0);
}

/// Calls in the prose may leave out what does not matter there, and have names for values.
#[test]
fn calls_in_the_prose_have_options_that_are_there() {
    let mut found = 0;
    for page in pages(&root()).iter().map(|path| Page::read(path)) {
        for words in page.calls_in_prose() {
            let value = |word: &String| {
                if ["N", "4/N", "NUMBER", "ORDER"].contains(&&**word) { "4".into() } else { word.clone() }
            };
            let error = misunderstood(&words.iter().map(value).collect::<Vec<_>>());
            let is_short = |error: &clap::Error| {
                use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument, MissingSubcommand};
                let kinds = [DisplayHelpOnMissingArgumentOrSubcommand, MissingRequiredArgument, MissingSubcommand];
                kinds.contains(&error.kind()) || error.to_string().contains("but none was supplied")
            };
            assert!(error.as_ref().is_none_or(is_short), "{}: {words:?}\n{}", page.name, error.unwrap());
            found += 1;
        }
    }
    assert!(found > 30, "{found}");
}
