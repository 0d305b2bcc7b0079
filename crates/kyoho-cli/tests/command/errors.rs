//! What the command refuses, and what it says then.

use std::process::{Command, Output, Stdio};

use crate::common::{folder, kyoho, run};
use crate::{failure, json};

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = kyoho().args(["plummer", "20000"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn files_that_were_asked_for_are_made_where_the_reader_goes_away() {
    let folder = folder("unread");
    let of = |name: &str| folder.join(name).display().to_string();
    let (model, other) = (of("stars.txt"), of("others.txt"));
    for file in [&model, &other] {
        std::fs::write(file, "1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n1 0 3 0 1 0 0\n").unwrap();
    }
    let files = |name: &str| std::fs::read_dir(folder.join(name)).map_or(0, Iterator::count);
    let (one, many, plot, pictures) = (of("one"), of("many"), of("plot.svg"), of("pictures"));
    for arguments in [
        format!("run {model} --eps 0.1 --t-end 1 --output {one} --plot {plot}"),
        format!("run {model} {other} --eps 0.1 --t-end 1 --output {many}"),
        format!("converge --order 4 --n 8 --halvings 1 --steps 2 --plot {}", of("converged.svg")),
        format!("picture {one}/snapshot-000000.txt {one}/snapshot-000001.txt --output {pictures}"),
    ] {
        let mut command = kyoho();
        command.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {errors}");
    }
    assert_eq!([files("one"), files("many/stars"), files("many/others"), files("pictures")], [17, 17, 17, 2]);
    assert!(folder.join("plot.svg").exists() && folder.join("converged.svg").exists());
}

#[test]
fn a_wrong_line_is_reported_with_its_number_and_nothing_runs() {
    let folder = folder("wrong");
    let (input, output) = (folder.join("stars.txt"), folder.join("snapshots"));
    std::fs::write(&input, "# two\n1 0 0 0 0 0 0\n\n1 1 0 0 0 x 0\n").unwrap();
    let error = failure(1, &format!("run {} --output {}", input.display(), output.display()));
    assert_eq!(error, format!("kyoho: {}, line 4: 'x' is not a finite number", input.display()));
    assert!(!output.exists());
}

#[test]
fn bodies_in_one_place_need_softening() {
    let input = folder("same").join("same.txt");
    std::fs::write(&input, "1 0 0 0 0 0 0\n1 5 0 0 0 0 0\n1 0 0 0 0 0 0\n").unwrap();
    let error = failure(1, &format!("run {} --json", input.display()));
    assert!(error.contains("bodies 1 and 3 have the same position") && error.contains("--eps"), "{error}");
    json(&format!("run {} --eps 0.5", input.display()));
}

#[test]
fn snapshots_that_are_none_are_refused() {
    let error = failure(1, "run --resume examples/pythagorean.txt");
    assert!(error.contains("pythagorean.txt: it is not a snapshot"), "{error}");
    assert!(failure(1, "run --resume nowhere.txt").contains("nowhere.txt"));
    assert!(failure(1, "run nowhere.txt").contains("nowhere.txt"));
}

#[test]
fn damaged_snapshots_are_refused() {
    let folder = folder("damaged");
    for (format, extension) in [("text", "txt"), ("hdf5", "h5")] {
        let settings = format!("--backend cpu --t-end 0.1 --interval 0.1 --format {format}");
        json(&format!("run --plummer 8 --eps 0.1 {settings} --overwrite --output {}", folder.display()));
        let whole = std::fs::read(folder.join(format!("snapshot-000001.{extension}"))).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() - 40] ^= 1;
        for (content, reason) in [(&whole[..whole.len() - 3], "truncated"), (&flipped, "bytes")] {
            let path = folder.join("damaged");
            std::fs::write(&path, content).unwrap();
            let error = failure(1, &format!("run --resume {} --t-end 1 --backend cpu", path.display()));
            assert!(error.contains("/damaged") && error.contains(reason), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn where_nothing_can_be_written_nothing_runs() {
    let folder = folder("unwritable");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    for arguments in [
        format!("run --plummer 8 --plot {}/nowhere/energy.svg", folder.display()),
        format!("run --plummer 8 --output {}/snapshots", file.display()),
        format!("converge --n 8 --plot {}/nowhere/errors.svg", folder.display()),
        format!("bench --sweep --n 8 --plot {}/nowhere/speed.svg", folder.display()),
    ] {
        let error = failure(1, &format!("{arguments} --backend cpu"));
        assert!(error.contains(folder.to_str().unwrap()), "{error}");
    }
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["file"]);
}

#[test]
fn a_snapshot_that_does_not_fit_leaves_nothing_behind() {
    let folder = folder("full");
    // The files have up to a block of 512 or 1024 bytes.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} run --plummer 100 --eps 0.1 --backend cpu --output {}",
        env!("CARGO_BIN_EXE_kyoho"),
        folder.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains("snapshot-000000.txt: "), "{error}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_model_that_does_not_fit_into_memory_is_an_error_that_says_how_large_it_is() {
    for (arguments, bytes) in [("plummer 1073741824", 48u64 << 30), ("run --plummer 1073741824", 208 << 30)] {
        let script = format!("ulimit -v 8000000; exec {} {arguments} --backend cpu", env!("CARGO_BIN_EXE_kyoho"));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let expected = format!("kyoho: no memory for the bodies of the Plummer model: {bytes} bytes\n");
        assert_eq!((output.status.code(), error), (Some(1), expected));
    }
}

#[test]
fn messages_are_short_and_name_what_helps() {
    let input = folder("messages").join("stars.txt");
    std::fs::write(&input, "1e300 0 0 0 0 0 0\n1e300 1e-20 0 0 0 0 0\n").unwrap();
    let error = failure_of(run(&format!("run {} --precision double --backend cpu", input.display())));
    assert!(error.ends_with("too large for precision double; allowed: units in which no sum overflows"), "{error}");
    let error = failure_of(kyoho().arg("info").env("KYOHO_THREADS", "7".repeat(120_000)).output().unwrap());
    assert!(error.contains("... (120000 bytes in all)'; allowed: 1 to 4096") && error.len() < 500, "{error}");
    let error = failure_of(kyoho().args(["info", "--devices", &"x".repeat(100_000)]).output().unwrap());
    assert!(error.contains("... (100000 bytes in all)") && error.len() < 500, "{error}");
    let help = String::from_utf8(run("verify --help").stdout).unwrap();
    assert!(help.contains("Only this order: 2, 4, 6, 8"), "{help}");
}

/// Returns the line of stderr of a call that must fail.
fn failure_of(output: Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap().trim_end().into()
}

#[test]
fn wrong_arguments_exit_with_2_and_name_what_is_allowed() {
    for (arguments, parts) in [
        ("run", ["--plummer", "--resume"]),
        ("run --plummer 10 examples/planets.txt", ["--plummer", "cannot be used with"]),
        ("run --plummer 1", ["--plummer", "from 2 to"]),
        ("run --plummer 10 --precision float", ["--precision is 'float'", "single, mixed, double, quad"]),
        ("run --plummer 10 --order 3", ["--order is 3", "2, 4, 6, 8"]),
        ("run --plummer 10 --order 8 --precision mixed", ["--precision is 'mixed'", "with --order 8, double, quad"]),
        (
            "run --plummer 10 --order 6 --precision single",
            ["--precision is 'single'", "with --order 6, mixed, double, quad"],
        ),
        ("run --plummer 10 --order 6 --eta4 0", ["--eta4 is 0", "above zero"]),
        ("run --plummer 10 --criterion average", ["--criterion is 'average'", "average with --order 6 or 8"]),
        ("run --plummer 10 --criterion aarseth", ["--criterion is 'aarseth'", "usual, order, average"]),
        ("converge --order 4,2", ["--order is 2", "4, 6, 8"]),
        ("converge --order 4,6,4", ["--order is 4 more than once", "4, 6, 8, each once"]),
        ("converge --eps 0", ["--eps is 0", "above zero"]),
        ("converge --steps 12", ["--steps is 12", "powers of two"]),
        ("converge --plot errors.png", ["errors.png", ".svg"]),
        ("run --plummer 10 --t-end -1", ["--t-end is -1", "after 0"]),
        ("run --plummer 10 --t-end nan", ["--t-end is NaN", "after 0"]),
        ("run --plummer 10 --interval 0.3", ["--interval is 0.3", "whole number"]),
        ("run --plummer 10 --eta 0", ["--eta is 0", "above zero"]),
        ("run --plummer 10 --eps -1", ["--eps is -1", "from zero"]),
        ("run --plummer 10 --order 2", ["--dt is not given", "whole number"]),
        ("run --plummer 10 --order 2 --dt 0.3", ["--dt is 0.3", "whole number"]),
        ("run --plummer 10 --order 2 --dt 0", ["--dt is 0;", "above zero"]),
        ("run --plummer 10 --order 2 --dt 1e-300", ["--dt is 1e-300;", "whole number"]),
        ("run --plummer 10 --accuracy 1e-3", ["--accuracy is 0.001", "0 with --order 4, other values with --order 2"]),
        ("run --plummer 10 --order 8 --theta 0.5", ["--theta is 0.5", "0 with --order 8, other values with --order 2"]),
        ("run --plummer 10 --order 2 --accuracy 0.1", ["--accuracy is 0.1", "0 for direct sums, or 1e-6 to 0.01"]),
        ("run --plummer 10 --order 2 --accuracy nan", ["--accuracy is NaN", "0 for direct sums, or 1e-6 to 0.01"]),
        ("run --plummer 10 --order 2 --theta -0.5", ["--theta is -0.5", "0 for direct sums, or 0.1 to 1.5"]),
        ("run --plummer 10 --order 2 --theta 1 --accuracy 1e-3", ["--theta is 1", "0 where --accuracy is given too"]),
        ("run --plummer 10 --report-error", ["--report-error is given without a tree", "with --accuracy or --theta"]),
        (
            "run --plummer 10 --order 2 --dt 0.0625 --theta 0 --report-error",
            ["--report-error is given without a tree", "with --accuracy or --theta"],
        ),
        ("run --plummer 10 --t-end 1e-300", ["--interval is 6.25e-302;", "times from 1e-30"]),
        ("run --plummer 10 --output nowhere --format fits", ["--format is 'fits'", "text, hdf5"]),
        ("run --plummer 10 --format hdf5", ["required", "--output"]),
        ("run --plummer 10 --dt-max 0.01 --dt-min 0.02", ["--dt-min is 0.02", "--dt-max"]),
        ("run --plummer 10 --plot energy.png", ["energy.png", ".svg"]),
        ("run --plummer 10 --backend gpu", ["--backend is 'gpu'", "cuda"]),
        ("run --plummer 10 --devices some", ["--devices is some", "all"]),
        ("run --plummer 10 --threads 0", ["--threads", "from 1 to 4096"]),
        ("info --level sse", ["--level is 'sse'", "portable"]),
        ("bench --order 5", ["--order is 5", "2, 4, 6, 8"]),
        ("bench --order 6 --precision single", ["--precision is 'single'", "with --order 6, mixed, double, quad"]),
        ("bench --order 6 --regular", ["--regular is with --order 6, mixed", "order 4"]),
        ("bench --seconds 0", ["--seconds is 0", "above zero"]),
        ("bench --sweep --limit 0", ["--limit is 0", "above zero"]),
        ("bench --sweep --plot speed.png", ["speed.png", ".svg"]),
        ("bench --plot speed.svg", ["required", "--sweep"]),
        ("bench --all --sweep", ["--all", "cannot be used with"]),
        ("bench --all --speedup", ["--all", "cannot be used with"]),
        ("bench --sweep --speedup", ["--sweep", "cannot be used with"]),
        ("bench --limit 1", ["required", "--speedup"]),
        ("bench --speedup --backend cpu", ["--devices is not given, and backend cpu has one device", "two or more"]),
        ("bench --speedup --backend cpu --devices 1", ["--devices is 1, one device of backend cpu", "two or more"]),
        ("bench --speedup --backend cpu --devices 0,0 --plot gain.png", ["gain.png", ".svg"]),
        ("bench --tree --order 4", ["--order is 4", "2 with --tree"]),
        ("bench --tree --accuracy 0.1", ["--accuracy is 0.1", "1e-6 to 0.01"]),
        ("bench --tree --accuracy 0", ["--accuracy is 0", "1e-6 to 0.01"]),
        ("bench --accuracy 1e-3", ["required", "--tree"]),
        ("bench --theta 0.5", ["required", "--tree"]),
        ("bench --tree --theta 2", ["--theta is 2", "0.1 to 1.5"]),
        ("bench --tree --walk deep", ["--walk is 'deep'", "cells, stackless, stackless-unsorted"]),
        ("bench --tree --walk stackless --accuracy 1e-3", ["--accuracy is given", "--theta with --walk stackless"]),
        ("bench --tree --sweep", ["--sweep", "cannot be used with"]),
        ("bench --tree --lists", ["--lists", "cannot be used with"]),
        ("bench --tree --ni 4", ["--ni", "cannot be used with"]),
        ("bench --tree --plot trees.png", ["trees.png", ".svg"]),
        ("bench --lists --batch", ["--lists", "cannot be used with"]),
        ("bench --lists --sweep", ["--sweep", "cannot be used with"]),
        ("bench --batch --speedup", ["--speedup", "cannot be used with"]),
        ("bench --all --lists", ["--all", "cannot be used with"]),
        ("bench --batch --regular", ["--regular", "cannot be used with"]),
        ("bench --lists --n 100", ["--n", "cannot be used with"]),
        ("bench --batch --ni 4", ["--ni", "cannot be used with"]),
        ("bench --groups 4", ["required", "--lists"]),
        ("bench --systems 4", ["required", "--batch"]),
        (
            "bench --lists --order 6 --precision single",
            ["--precision is 'single'", "with --order 6, mixed, double, quad"],
        ),
        (
            "bench --batch --backend cpu --systems 1000000",
            ["--systems is 1000000, of 4096 bodies each", "up to 268435456 bodies in all"],
        ),
        ("tune", ["tune", "help"]),
    ] {
        let error = failure(2, arguments);
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}

/// Each order has its own default precision, but a precision that was asked for is not replaced.
#[test]
fn the_precision_must_be_one_that_the_order_is_computed_in() {
    let folder = folder("precision");
    let said = |arguments: &str, precision: &str| {
        let output = kyoho().args(arguments.split_whitespace()).env("KYOHO_PRECISION", precision).output().unwrap();
        let code = output.status.code();
        (code, String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let plummer = "run --backend cpu --plummer 8 --eps 0.1 --t-end 0.1 --interval 0.1";
    let bench = "bench --backend cpu --n 16 --ni 1 --seconds 0.001";
    for (order, wrong, allowed) in [(6, "single", "mixed, double, quad"), (8, "mixed", "double, quad")] {
        for subcommand in [plummer, bench] {
            let (code, printed, error) = said(&format!("{subcommand} --order {order}"), wrong);
            assert_eq!((code, printed.as_str()), (Some(1), ""), "{subcommand} {order}");
            let expected = format!("KYOHO_PRECISION is '{wrong}'; allowed: {allowed} for a system of order {order}");
            assert!(error.contains(&expected), "{error}");
            let (code, printed, _) = said(&format!("{subcommand} --order {order} --precision double --json"), wrong);
            assert!(code == Some(0) && printed.contains("\"double\""), "{printed}");
        }
    }
    assert_eq!(json(&format!("{plummer} --output {}", folder.display()))["precision"], "mixed");
    assert_eq!(json(&format!("{plummer} --order 8"))["precision"], "double");
    let resume = format!("run --resume {} --t-end 0.2", folder.join("snapshot-000001.txt").display());
    let error = failure(2, &format!("{resume} --order 8"));
    assert!(
        error.contains("the precision of the snapshot is 'mixed'; allowed: with --order 8, double, quad"),
        "{error}"
    );
    let (code, printed, error) = said(&format!("{resume} --order 6 --json"), "single");
    assert!(code == Some(0) && printed.contains("\"mixed\""), "{error}");
}

#[test]
fn what_the_library_refuses_is_one_line() {
    let output = kyoho().arg("info").env("KYOHO_THREADS", "many").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("kyoho: KYOHO_THREADS is 'many'; allowed: ") && error.trim_end().lines().count() == 1);
}
