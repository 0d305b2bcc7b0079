//! `kyoho-figures` as its users run it: the numbers that depend on no machine, and the pictures.

mod common;

use std::path::Path;
use std::process::Output;

use common::{folder, run, run_kyoho};
use serde_json::Value;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the output is text")
}

/// Returns the standard output of a call that must succeed.
fn printed(arguments: &str) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {}", text(output.stderr));
    text(output.stdout)
}

/// Makes figures in a folder and returns what `--json` prints.
fn made(arguments: &str, folder: &Path) -> Value {
    let report = printed(&format!("{arguments} --backend cpu --json --output {}", folder.display()));
    serde_json::from_str(&report).expect("the output is JSON")
}

/// Returns the rows of a figure of a report.
fn rows<'a>(report: &'a Value, figure: &str) -> &'a [Value] {
    let figures = report["figures"].as_array().expect("an array of figures");
    let found = figures.iter().find(|found| found["figure"] == figure).expect("the figure was made");
    found["rows"].as_array().expect("an array of rows")
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Returns the pictures of all figures of a report.
fn pictures(report: &Value) -> Vec<String> {
    let figures = report["figures"].as_array().expect("an array of figures");
    let paths = figures.iter().flat_map(|figure| figure["pictures"].as_array().expect("an array of paths"));
    paths.map(|path| path.as_str().expect("a path").into()).collect()
}

/// Returns the content of a picture, whose tags must match.
fn svg(path: &Path) -> String {
    let content = std::fs::read_to_string(path).expect("the picture is there");
    let mut open: Vec<&str> = Vec::new();
    for tag in content.split('<').skip(1) {
        let inside = tag.split('>').next().expect("a tag");
        assert!(tag.contains('>'), "{tag}");
        let name = inside.trim_start_matches('/').split([' ', '\n', '/']).next().expect("a name");
        match (inside.starts_with('/'), inside.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, true) => (),
            (false, false) => open.push(name),
        }
    }
    assert!(content.starts_with("<svg") && open.is_empty(), "{}", path.display());
    content
}

#[test]
fn integrations_have_the_counts_of_kyoho_run_on_any_number_of_devices_and_keep_their_energy() {
    let folder = folder("integrations");
    let report = made("sapporo2 --only 6 --n 64 --devices 0,0", &folder);
    let runs = rows(&report, "figure 6");
    let kinds: Vec<(&str, usize)> =
        runs.iter().map(|run| (run["precision"].as_str().unwrap(), run["devices"].as_array().unwrap().len())).collect();
    assert_eq!(kinds, [("mixed", 1), ("mixed", 2), ("double", 1), ("double", 2)]);
    for runs in runs.chunks(2) {
        let run = &runs[0];
        for quantity in ["steps", "block_steps", "interactions", "relative_error"] {
            assert_eq!(run[quantity], runs[1][quantity], "{quantity}");
        }
        let same = run_kyoho(&format!(
            "run --plummer 64 --backend cpu --order 6 --precision {} --criterion average --eta 0.1 --eta4 0.01 --eps {} \
             --interval 1 --json",
            run["precision"].as_str().unwrap(),
            4.0 / 64.0
        ));
        let same: Value = serde_json::from_slice(&same.stdout).expect("the output is JSON");
        for quantity in ["steps", "block_steps", "interactions", "eta", "eta4", "eps", "relative_error"] {
            let [one, other] = [&run[quantity], &same[quantity]].map(number);
            // The error is computed in two ways, whose rounding differs.
            assert!((one - other).abs() <= 1e-15, "{quantity}: {one} {other}");
        }
        assert_eq!((number(&run["eta"]), number(&run["eta4"])), (0.1, 0.01));
        let mean = number(&run["steps"]) / number(&run["block_steps"]);
        assert!((number(&run["mean_active"]) / mean - 1.0).abs() < 1e-12, "{run}");
        assert!(number(&run["relative_error"]).abs() < 1e-9, "{run}");
        assert_eq!((number(&runs[0]["speedup"]), runs[1]["speedup"].is_number()), (1.0, true));
    }
    let picture = svg(&folder.join("sapporo2-6.svg"));
    // Each panel has its curves' points and one more for each in the legend; that of speed-ups has
    // none for one device.
    assert_eq!(picture.matches("<circle").count(), 3 * 2 * 4 + 2 * 2);
    for label in ["seconds", "speed-up over one device", "mean number of active bodies", "|E - E0| / |E0|"] {
        assert!(picture.contains(label), "{label}");
    }
}

#[test]
fn an_integration_of_one_device_has_no_panel_of_speedups_and_may_be_left_out() {
    let folder = folder("one-device");
    let page =
        printed(&format!("sapporo2 --only 6 --n 16 --precision double --backend cpu --output {}", folder.display()));
    assert!(page.contains("made by `kyoho-figures sapporo2 --only 6 --n 16"), "{page}");
    assert!(page.contains("eps 4 / N") && page.contains("1e-12 in double"), "{page}");
    assert!(!svg(&folder.join("sapporo2-6.svg")).contains("speed-up"));
    let page = printed(&format!(
        "sapporo2 --only 6 --n 16 --precision double --limit 1e-6 --backend cpu --output {}",
        folder.display()
    ));
    assert!(page.contains("left out: N = 16, double") && page.contains("no plot"), "{page}");
}

#[test]
fn forces_are_measured_for_every_order_precision_and_number_of_devices() {
    let folder = folder("forces");
    let report = made("sapporo2 --only 2,3,4,5 --n 16,24 --devices 0,0 --seconds 0.001", &folder);
    // One to 16 sinks in two orders and precisions.
    let block_steps = rows(&report, "figure 2");
    assert_eq!(block_steps.len(), 2 * 4 * 5);
    for (place, row) in block_steps.iter().enumerate() {
        assert_eq!(number(&row["order"]), [4.0, 4.0, 6.0, 6.0][place / 5 % 4]);
        assert_eq!(row["precision"], ["mixed", "double"][place / 5 % 2]);
        assert_eq!((number(&row["nj"]), number(&row["ni"])), ([16.0, 24.0][place / 20], 2f64.powi(place as i32 % 5)));
        assert!(row["work"] == "block_step" && row["devices"].as_array().map(Vec::len) == Some(1), "{row}");
    }
    let n_times_n: Vec<_> = rows(&report, "figure 3")
        .iter()
        .map(|row| (row["precision"].as_str().unwrap(), number(&row["ni"]), number(&row["nj"])))
        .collect();
    assert_eq!(
        n_times_n,
        [("mixed", 16.0, 16.0), ("mixed", 24.0, 24.0), ("double", 16.0, 16.0), ("double", 24.0, 24.0)]
    );
    for (figure, order) in [("figure 4", 4.0), ("figure 5", 6.0)] {
        // N x N of both numbers of bodies and block steps of 1 and 16 sinks, on one device and two.
        let rows = rows(&report, figure);
        assert_eq!(rows.len(), 2 * 4 * 2);
        assert!(rows.iter().all(|row| number(&row["order"]) == order && row["speedup"].is_number()));
    }
    let pictures = pictures(&report);
    assert_eq!(pictures.len(), 4);
    // The points and the legend: eight curves of 2, two of 3, and a panel with a curve for each
    // precision of 4 and 5. Beyond the seventh colour points have another shape.
    for (picture, [circles, others]) in pictures.iter().zip([[7 * 6, 6], [2 * 3, 0], [2 * 3, 0], [2 * 3, 0]]) {
        let picture = svg(Path::new(picture));
        assert_eq!(picture.matches("<circle").count(), circles, "{picture}");
        assert_eq!(picture.matches("<polygon").count(), others, "{picture}");
    }
}

#[test]
fn all_figures_are_made_unasked_but_those_of_several_devices_where_there_is_one() {
    let folder = folder("all");
    let output = run(&format!(
        "sapporo2 --n 4,8 --precision double --seconds 0.001 --threads 1 --backend cpu --json --output {}",
        folder.display()
    ));
    let report: Value = serde_json::from_str(&text(output.stdout)).expect("the output is JSON");
    let made: Vec<&str> =
        report["figures"].as_array().unwrap().iter().map(|figure| figure["figure"].as_str().unwrap()).collect();
    assert_eq!(made, ["figure 2", "figure 3", "figure 6", "figure 7"]);
    assert!(report["command"].as_str().unwrap().starts_with("kyoho-figures sapporo2 --n 4,8"), "{report}");
    let remarks = text(output.stderr);
    let left_out = [4, 5].map(|figure| {
        format!("kyoho: figure {figure} left out: --devices is not given, and backend cpu has one device")
    });
    assert_eq!(remarks.lines().collect::<Vec<_>>(), left_out);
    assert!(pictures(&report).iter().all(|picture| svg(Path::new(picture)).contains("</svg>")));
}

#[test]
fn the_grid_has_every_pair_of_sinks_and_sources_on_one_core_and_on_all() {
    let folder = folder("grid");
    let report = made("sapporo2 --only 7 --n 1,4,16 --threads 2 --seconds 0.001", &folder);
    let cells = rows(&report, "figure 7");
    let found: Vec<(f64, f64)> = cells.iter().map(|cell| (number(&cell["ni"]), number(&cell["nj"]))).collect();
    let lines = [1.0, 4.0, 16.0];
    let expected: Vec<(f64, f64)> = lines.iter().flat_map(|nj| lines.map(|ni| (ni, *nj))).collect();
    assert_eq!(found, expected);
    for cell in cells {
        let rows = cell["rows"].as_array().expect("a row for each machine");
        assert_eq!(rows.iter().map(|row| number(&row["threads"])).collect::<Vec<_>>(), [1.0, 2.0]);
        let seconds: Vec<f64> = rows.iter().map(|row| number(&row["seconds"])).collect();
        assert_eq!(cell["fastest"], if seconds[0] <= seconds[1] { "one core" } else { "all cores" });
    }
    let picture = svg(&folder.join("sapporo2-7.svg"));
    for label in ["one core: microseconds", "all cores: microseconds", "the fastest", "sinks", "sources"] {
        assert!(picture.contains(label), "{label}");
    }
    // The background, nine cells in each of three maps, two scales of colours, two of the legend.
    assert_eq!(picture.matches("<rect").count(), 1 + 3 * 9 + 2 * 64 + 2);
    let page = printed(&format!(
        "sapporo2 --only 7 --n 2,4 --threads 1 --backend cpu --limit 1e-12 --output {}",
        folder.display()
    ));
    assert_eq!(page.lines().filter(|line| line.contains("  -  ") || line.trim_end().ends_with(" -")).count(), 2);
    assert!(page.contains("-: left out; a row would take longer than the --limit"), "{page}");
}

#[test]
fn a_cpu_has_the_chosen_speed_beside_that_of_miki() {
    let folder = folder("miki");
    let report = made("miki --n 256,300 --seconds 0.001", &folder);
    let rows = rows(&report, "speed against N");
    assert_eq!(rows.iter().map(|row| number(&row["nj"])).collect::<Vec<_>>(), [256.0, 300.0]);
    for row in rows {
        let gflops = 26.0 * number(&row["nj"]).powi(2) / number(&row["seconds"]) / 1e9;
        assert!((number(&row["gflops"]) / gflops - 1.0).abs() < 1e-12, "{row}");
        assert!(row["kernel"].is_null() && row["order"] == 2 && row["precision"] == "single", "{row}");
    }
    let picture = svg(&folder.join("miki.svg"));
    assert!(picture.contains("theirs: 767") && picture.contains("GFLOPS at 26 operations a pair"));
    assert_eq!(picture.matches("<circle").count(), 2 + 1);
}

#[test]
fn trees_by_each_walk_have_the_errors_of_their_angle_beside_the_times_of_nakasato() {
    let folder = folder("nakasato");
    let report = made("nakasato --fewer 1000 --seconds 0.001", &folder);
    let of = |figure: &str| -> Vec<(String, f64, f64)> {
        let row =
            |row: &Value| (row["method"].as_str().unwrap().to_owned(), number(&row["n"]), number(&row["seconds"]));
        rows(&report, figure).iter().map(row).collect()
    };
    let walks = ["stackless-unsorted", "stackless", "cells"];
    let tables = rows(&report, "tables II and III");
    assert_eq!(tables.len(), 5 * 3);
    for (rows, n) in tables.chunks(3).zip([51.0, 102.0, 204.0, 409.0, 819.0]) {
        for (row, walk) in rows.iter().zip(walks) {
            assert!(row["method"] == walk && number(&row["n"]) == n && number(&row["theta"]) == 0.6, "{row}");
            assert!(number(&row["construction_seconds"]) > 0.0 && number(&row["phase_seconds"]["walk"]) > 0.0, "{row}");
            let [median, most] = ["error_median", "error_percentile_99"].map(|error| number(&row[error]));
            assert!(0.0 < median && median < 0.02 && median <= most && most < 0.2, "{row}");
            let interactions = number(&row["interactions_per_sink"]);
            assert!(interactions > 10.0 && interactions <= n, "{row}");
            // The article's times are of its own numbers of bodies.
            assert_eq!(row["theirs_seconds"], Value::Null);
        }
        // The order of sinks changes nothing but the time.
        for quantity in ["error_median", "error_percentile_99", "interactions_per_sink"] {
            assert_eq!(rows[0][quantity], rows[1][quantity], "{quantity}");
        }
    }
    let by_theta = rows(&report, "table V");
    let thetas: Vec<f64> = by_theta.iter().step_by(2).map(|row| number(&row["theta"])).collect();
    assert_eq!(thetas, [1.0, 0.8, 0.6, 0.4, 0.2]);
    for rows in by_theta.windows(3) {
        assert!(number(&rows[2]["error_median"]) < number(&rows[0]["error_median"]), "{} {}", rows[0], rows[2]);
        assert!(number(&rows[2]["interactions_per_sink"]) > number(&rows[0]["interactions_per_sink"]));
    }
    let crossing = of("figure 9");
    assert_eq!(crossing.len(), 6 * 3);
    assert!(crossing.iter().zip(["stackless", "cells", "direct"].iter().cycle()).all(|(row, method)| row.0 == *method));
    assert_eq!(
        of("cube").iter().map(|(walk, n, _)| (walk.as_str(), *n)).collect::<Vec<_>>(),
        walks.map(|walk| (walk, 1048.0))
    );
    let circles =
        pictures(&report).iter().map(|picture| svg(Path::new(picture)).matches("<circle").count()).collect::<Vec<_>>();
    // The points of each curve and one for its place in the legend.
    assert_eq!(circles, [3 * 6, 2 * 2 * 6, 3 * 7]);
}

#[test]
fn wrong_arguments_are_named() {
    let failed = |arguments: &str| {
        let Output { status, stdout, stderr } = run(&format!("{arguments} --backend cpu"));
        assert_eq!(status.code(), Some(2), "{}", text(stdout));
        text(stderr)
    };
    for (arguments, parts) in [
        ("sapporo2 --only 8", ["--only", "from 2 to 7"]),
        ("sapporo2 --only 6 --n 1", ["--n is 1", "2 or more in figure 6"]),
        ("sapporo2 --precision single", ["--precision is 'single'", "mixed, double"]),
        ("sapporo2 --only 4", ["--devices is not given", "two or more, as figure 4 or 5"]),
        ("miki --seconds 0", ["--seconds is 0", "above zero"]),
        ("miki --limit 0", ["--limit is 0", "above zero"]),
        ("nakasato --fewer 0", ["--fewer", "1 to 1000"]),
    ] {
        let error = failed(arguments);
        assert!(parts.iter().all(|part| error.contains(part)), "{arguments}: {error}");
    }
}
