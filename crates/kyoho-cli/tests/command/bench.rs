//! What `kyoho bench` measures and draws.

use std::sync::Arc;

use kyoho_core::Interaction;
use kyoho_laws::catalogue::CATALOGUE;
use serde_json::Value;

use crate::common::{folder, kyoho, run};
use crate::{json, number};

#[test]
fn bench_measures_every_kind_of_work() {
    let report = json("bench --n 300 --ni 1,64,1000 --order 2 --precision double --threads 1 --seconds 0.001");
    let rows = report.as_array().expect("an array of rows");
    let works: Vec<&str> = rows.iter().map(|row| row["work"].as_str().unwrap()).collect();
    // A block of 1000 sinks needs more than 300 sources.
    let expected = ["n_times_n", "block_step", "block_step", "one_sink", "one_sink_predicted", "set_source"];
    assert_eq!(works, expected);
    for row in &rows[..5] {
        let rate = number(&row["ni"]) * number(&row["nj"]) / number(&row["seconds"]);
        assert!((number(&row["interactions_per_second"]) / rate - 1.0).abs() < 1e-12, "{row}");
        assert!((number(&row["flops_per_second"]) / (38.0 * rate) - 1.0).abs() < 1e-12, "{row}");
        assert!(number(&row["calls"]) >= 3.0);
    }
    let report = json("bench --regular --n 300 --ni 8 --threads 1 --seconds 0.001");
    let regular = report.as_array().expect("an array of rows").iter().filter(|row| row["scope"] == "regular");
    let works: Vec<&str> = regular.map(|row| row["work"].as_str().unwrap()).collect();
    let expected = ["n_times_n", "block_step", "block_step_lists", "one_sink", "one_sink_predicted", "set_source"];
    assert_eq!(works, expected);
    let table = run("bench --n 100 --ni 1 --seconds 0.001");
    let table = String::from_utf8(table.stdout).unwrap();
    let (interactions, flops) = (table.find("Gint/s").unwrap(), table.find("TFLOPS").unwrap());
    assert!(interactions < flops && table.contains("ns a source"), "{table}");
}

/// Returns the columns of the rows of a sweep's table: nj, ni, microseconds, Gint/s, the cost
/// model's microseconds.
fn sweep_rows(table: &str) -> Vec<Vec<&str>> {
    let lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.filter(|words| words.len() == 5 && words[0].parse::<usize>().is_ok()).collect()
}

#[test]
fn a_sweep_doubles_the_sinks_up_to_all_sources_and_draws_the_speeds() {
    let picture = folder("sweep").join("speed.svg");
    let arguments = format!(
        "bench --sweep --backend cpu --n 1,40,300 --order 2 --precision double --threads 1 --seconds 0.001 --plot {}",
        picture.display()
    );
    let sinks = [&[1][..], &[1, 2, 4, 8, 16, 32, 40], &[1, 2, 4, 8, 16, 32, 64, 128, 256, 300]];
    let expected: Vec<(usize, usize)> =
        [1, 40, 300].iter().zip(sinks).flat_map(|(nj, sinks)| sinks.iter().map(|ni| (*nj, *ni))).collect();

    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let rows = sweep_rows(&table);
    let found: Vec<(usize, usize)> =
        rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
    assert_eq!(found, expected, "{table}");
    for row in &rows {
        let [nj, ni, microseconds, speed] = [0, 1, 2, 3].map(|column| row[column].parse::<f64>().unwrap());
        let (pairs, digit) = (nj * ni / microseconds / 1e3, 0.5e-4 + nj * ni / microseconds.powi(2) / 1e3 * 0.5e-3);
        assert!((speed - pairs).abs() <= 1.01 * digit && row[4] == "-", "{row:?}");
    }
    assert!(table.contains("order 2, double") && table.contains("1 thread"), "{table}");
    assert!(table.trim_end().ends_with(&format!("plot: {}", picture.display())), "{table}");
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The picture has the points, and one more for each number of sources in the legend.
    assert_eq!(svg.matches("<circle").count(), expected.len() + 3);
    for text in ["order 2, double", "nj = 1", "nj = 40", "nj = 300"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(!svg.contains("model"), "the CPU has none");

    let report = json(&arguments);
    let rows = report.as_array().expect("an array of rows");
    let found: Vec<(usize, usize)> =
        rows.iter().map(|row| (number(&row["nj"]) as usize, number(&row["ni"]) as usize)).collect();
    assert_eq!(found, expected);
    for row in rows {
        assert!(row["work"] == "block_step" && row["model_seconds"].is_null() && row["threads"] == 1, "{row}");
    }
}

#[test]
fn a_sweep_says_what_would_take_too_long_and_draws_where_it_is() {
    let folder = folder("sweep_limit");
    std::fs::write(folder.join("kyoho-bench.svg"), "an older picture").unwrap();
    let arguments = "bench --sweep --backend cpu --n 100,200 --seconds 0.001 --limit 1e-12";
    let sweep = |more: &[&str]| {
        let output = kyoho().current_dir(&folder).args(arguments.split_whitespace()).args(more).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{stderr}");
        (stdout, stderr)
    };
    let (table, errors) = sweep(&[]);
    assert_eq!(sweep_rows(&table).len(), 2, "{table}");
    for nj in [100, 200] {
        assert!(table.contains(&format!("left out: {nj} sources with 2 sinks and more")), "{table}");
    }
    assert_eq!(errors, "");
    let svg = std::fs::read_to_string(folder.join("kyoho-bench.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 2 + 2);
    // Remarks that are no rows go to stderr.
    let (report, errors) = sweep(&["--json"]);
    let report: Value = serde_json::from_str(&report).expect("the output is JSON");
    assert_eq!(report.as_array().map(Vec::len), Some(2));
    assert_eq!(errors.lines().filter(|line| line.starts_with("kyoho: left out: ")).count(), 2, "{errors}");
}

/// Returns the lines of a table of speed-ups: work, ni, nj, devices, microseconds and the speed-up.
fn speedup_lines(table: &str) -> Vec<(String, Vec<f64>)> {
    let lines = table.lines().filter_map(|line| {
        let work = ["N x N", "block step"].into_iter().find(|work| line.starts_with(work))?;
        let numbers = line[work.len()..].split_whitespace().map(|word| word.parse().expect("a number"));
        Some((work.to_string(), numbers.collect()))
    });
    lines.collect()
}

#[test]
fn a_speedup_measures_more_and_more_devices_and_compares_them_with_one() {
    let picture = folder("speedup").join("gain.svg");
    let arguments = format!(
        "bench --speedup --backend cpu --devices 0,0,0 --n 300,40 --ni 1,16,100,1000 --threads 1 --seconds 0.001 --plot {}",
        picture.display()
    );
    // Block steps use the largest number of sources, which is below 1000 sinks.
    let expected = [("N x N", 40, 40), ("N x N", 300, 300)].into_iter();
    let expected: Vec<_> = expected.chain([1, 16, 100].map(|ni| ("block step", ni, 300))).collect();

    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let lines = speedup_lines(&table);
    assert_eq!(lines.len(), 3 * expected.len(), "{table}");
    for (lines, (work, ni, nj)) in lines.chunks(3).zip(&expected) {
        let on_one = lines[0].1[3];
        for ((found, numbers), devices) in lines.iter().zip([1.0, 2.0, 3.0]) {
            assert_eq!((found.as_str(), &numbers[..3]), (*work, &[*ni as f64, *nj as f64, devices][..]), "{table}");
            // Three digits of each number are printed.
            let (microseconds, speedup) = (numbers[3], numbers[4]);
            let ratio = on_one / microseconds;
            let digits = 0.6e-3 * (1.0 + (1.0 + ratio) / microseconds);
            assert!((speedup - ratio).abs() <= digits, "{work}: {numbers:?}");
        }
    }
    let last: Vec<&str> = table.trim_end().lines().rev().take(2).collect();
    assert_eq!(last[0], format!("plot: {}", picture.display()));
    assert!(last[1].contains("compared") && last[1].ends_with("the same bits on 1, 2, 3 devices"), "{table}");

    // The picture has a curve of two points for each number of devices but one, and its place in
    // the legend.
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert_eq!(svg.matches("<circle").count(), 2 * (2 + 1));
    for text in ["order 4, mixed", "2 devices", "3 devices", "ideal: 2", "ideal: 3"] {
        assert!(svg.contains(text), "{text}");
    }

    let report = json(&format!("{arguments} --order 2 --precision single"));
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 3 * expected.len());
    for (line, (work, ni, nj)) in rows.chunks(3).zip(&expected) {
        let name = if *work == "N x N" { "n_times_n" } else { "block_step" };
        for (row, devices) in line.iter().zip([&[0][..], &[0, 0], &[0, 0, 0]]) {
            assert_eq!(row["devices"], serde_json::json!(devices));
            assert!(row["work"] == name && row["ni"] == *ni && row["nj"] == *nj, "{row}");
            assert!(row["order"] == 2 && number(&row["calls"]) >= 3.0, "{row}");
            let ratio = number(&line[0]["seconds"]) / number(&row["seconds"]);
            assert!((number(&row["speedup"]) / ratio - 1.0).abs() < 1e-12, "{row}");
        }
    }
}

#[test]
fn a_speedup_says_what_would_take_too_long() {
    let folder = folder("speedup_limit");
    let picture = folder.join("kyoho-speedup.svg");
    let speedup = |more: &str| {
        let arguments = format!("bench --speedup --backend cpu --devices 0,0 --n 50,60 --ni 4 --seconds 0.001 {more}");
        let output = kyoho().current_dir(&folder).args(arguments.split_whitespace()).output().unwrap();
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{stderr}");
        (stdout, stderr)
    };
    let regular_neighbours =
        ["N x N of ni = 50, nj = 50", "N x N of ni = 60, nj = 60", "block step of ni = 4, nj = 60"];
    let (table, errors) = speedup("--limit 1e-12");
    for row in regular_neighbours {
        assert!(table.contains(&format!("left out: {row}; a row would take ")), "{table}");
    }
    // Rows that were not measured were not compared, and there is nothing to draw.
    assert!(table.contains("no plot") && !table.contains("compared") && !picture.exists(), "{table}");
    assert!(speedup_lines(&table).is_empty() && errors.is_empty(), "{table}{errors}");
    // Remarks that are no rows go to stderr.
    let (report, errors) = speedup("--limit 1e-12 --json");
    assert_eq!(serde_json::from_str::<Value>(&report).expect("the output is JSON"), serde_json::json!([]));
    assert_eq!(errors.lines().filter(|line| line.starts_with("kyoho: left out: ")).count(), 3, "{errors}");

    let (table, _) = speedup("");
    assert!(speedup_lines(&table).len() == 2 * 3 && picture.exists(), "{table}");
}

#[test]
fn bench_of_trees_has_their_times_and_errors_beside_direct_sums_and_draws_both() {
    let folder = folder("bench_trees");
    let picture = folder.join("trees.svg");
    let arguments = format!(
        "bench --tree --backend cpu --n 400,900 --accuracy 1e-3,0.01 --seconds 0.001 --threads 1 --plot {}",
        picture.display()
    );
    let rows = json(&arguments);
    let rows = rows.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 2 * 2 * 3);
    // Fewer digits come first.
    let expected = [(400, 1e-2), (400, 1e-3), (900, 1e-2), (900, 1e-3)];
    for (rows, (n, accuracy)) in rows.chunks(3).zip(expected) {
        let works: Vec<&str> = rows.iter().map(|row| row["work"].as_str().unwrap()).collect();
        assert_eq!(works, ["tree", "tree_sources_stay", "n_times_n"]);
        let direct = &rows[2];
        for row in rows {
            assert!(row["ni"] == n && row["nj"] == n && row["order"] == 2 && row["precision"] == "single", "{row}");
            assert!(number(&row["calls"]) >= 3.0, "{row}");
        }
        for row in &rows[..2] {
            assert_eq!(number(&row["accuracy"]), accuracy);
            let [median, most] = ["error_median", "error_percentile_99"].map(|error| number(&row[error]));
            // Bodies so few are summed by a tree too.
            assert!(0.0 < median && median <= accuracy && median < most && most <= 5.0 * accuracy, "{row}");
            let ratio = number(&direct["seconds"]) / number(&row["seconds"]);
            assert!((number(&row["of_direct"]) / ratio - 1.0).abs() < 1e-12, "{row}");
            assert_eq!(row["interactions_per_second"], Value::Null);
        }
        assert_eq!((&direct["accuracy"], &direct["of_direct"]), (&Value::Null, &Value::Null));
    }
    let output = run(&arguments);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{table}");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[2].join(" "), "N accuracy median 99 % tree, ms stays, ms direct, ms ratio");
    for (line, (n, accuracy)) in lines[3..7].iter().zip(expected) {
        assert_eq!((line.len(), line[0].parse(), line[1].parse()), (8, Ok(n), Ok(accuracy)), "{table}");
    }
    let of_errors = folder.join("trees-error.svg");
    assert_eq!(table.lines().last(), Some(&*format!("plots: {}, {}", picture.display(), of_errors.display())));
    let [times, errors] = [&picture, &of_errors].map(|path| std::fs::read_to_string(path).expect("it is drawn"));
    // Each curve has two points, and a place in the legend.
    assert_eq!((times.matches("<circle").count(), errors.matches("<circle").count()), (3 * 3, 2 * 3));
    for (svg, texts) in [
        (&times, ["tree, accuracy 1e-2", "tree, accuracy 1e-3", "direct sums", "seconds"]),
        (&errors, ["N = 400", "N = 900", "median relative error", "0.001"]),
    ] {
        assert!(texts.iter().all(|text| svg.contains(text)), "{texts:?}");
    }
}

#[test]
fn bench_of_trees_takes_angles_and_walks_and_shows_the_phases_of_a_call() {
    let picture = folder("bench_walks").join("trees.svg");
    let bench = |options: &str| {
        format!(
            "bench --tree --backend cpu --n 600 --seconds 0.001 --threads 1 --phases --plot {} {options}",
            picture.display()
        )
    };
    let rows = |options: &str| json(&bench(options)).as_array().expect("an array of rows").clone();
    let stackless = rows("--walk stackless --theta 0.4,0.8");
    let errors = |theta: usize| number(&stackless[3 * theta]["error_median"]);
    assert!(errors(0) > 2.0 * errors(1) && errors(1) > 1e-5, "{} {}", errors(0), errors(1));
    for (rows, theta) in stackless.chunks(3).zip([0.8, 0.4]) {
        let [whole, stays, direct] = rows else { panic!("three rows of an angle") };
        for row in [whole, stays] {
            assert!(row["walk"] == "stackless" && row["theta"] == theta && row["accuracy"] == Value::Null, "{row}");
        }
        let phases = whole["phase_seconds"].as_object().expect("seconds by phase");
        let names: Vec<&str> = phases.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["cells", "expansions", "first pass", "moments", "near sums", "rest", "sort", "walk"],
            "{whole}"
        );
        assert!(number(&phases["walk"]) > 0.0 && number(&phases["sort"]) > 0.0 && number(&phases["first pass"]) == 0.0);
        assert!(number(&whole["interactions_per_sink"]) < 600.0, "{whole}");
        assert_eq!((&direct["walk"], &direct["phase_seconds"]), (&Value::Null, &Value::Null));
    }
    let unsorted = rows("--walk stackless-unsorted --theta 0.4");
    for quantity in ["error_median", "interactions_per_sink"] {
        assert_eq!(unsorted[0][quantity], stackless[3][quantity], "{quantity}");
    }
    let cells = &rows("--theta 0.8")[0];
    assert!(cells["walk"] == "cells" && number(&cells["phase_seconds"]["first pass"]) > 0.0, "{cells}");
    let table = String::from_utf8(run(&bench("--walk stackless")).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[2].contains("theta") && lines[3].contains(" 0.6 "), "{table}");
    let phases = lines[4..lines.len() - 1].join(" ");
    assert!(phases.contains("milliseconds: sort") && phases.ends_with("interactions a sink"), "{table}");
    assert!(std::fs::read_to_string(&picture).unwrap().contains("stackless walk, theta 0.6"));
}

#[test]
fn bench_of_all_has_every_order_precision_and_scope_on_one_thread_and_on_all() {
    let report = json("bench --all --backend cpu --n 20 --ni 4 --threads 2 --seconds 0.0001");
    let mut found: Vec<String> = report
        .as_array()
        .expect("an array of rows")
        .iter()
        .filter(|row| row["work"] == "block_step")
        .map(|row| {
            let [precision, scope] = ["precision", "scope"].map(|name| row[name].as_str().unwrap());
            format!("{} {precision} {scope} {}", row["order"], row["threads"])
        })
        .collect();
    found.sort();
    let name =
        |entry: &Arc<Interaction>| format!("{} {} {}", entry.order as i32, entry.precision.name(), entry.scope.name());
    let mut expected: Vec<String> =
        CATALOGUE.iter().map(name).flat_map(|name| [1, 2].map(|threads| format!("{name} {threads}"))).collect();
    expected.sort();
    assert_eq!(found, expected);
}

/// Checks the rows of groups in a report, behind each of which stands the row N x N that it is
/// compared with, and returns their numbers of groups, sinks and sources.
fn rows_of_groups(report: &Value, work: &[&str]) -> Vec<[u64; 3]> {
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 2 * work.len());
    let shape = |pair: &[Value], work: &str| {
        let [row, n_times_n] = pair else { panic!("{pair:?}") };
        assert!(row["work"] == work && n_times_n["work"] == "n_times_n", "{pair:?}");
        assert!(number(&row["calls"]) >= 3.0 && number(&n_times_n["calls"]) >= 3.0, "{pair:?}");
        assert!(n_times_n["groups"].is_null() && n_times_n["of_n_times_n"].is_null(), "{n_times_n}");
        let near = |found: &Value, expected: f64| (number(found) / expected - 1.0).abs() < 1e-12;
        let groups_per_second = number(&row["groups"]) / number(&row["seconds"]);
        let rate = groups_per_second * number(&row["ni"]) * number(&row["nj"]);
        assert!(near(&row["groups_per_second"], groups_per_second), "{row}");
        assert!(near(&row["interactions_per_second"], rate), "{row}");
        assert!(near(&row["of_n_times_n"], rate / number(&n_times_n["interactions_per_second"])), "{pair:?}");
        for name in ["backend", "devices", "order", "precision", "threads", "level"] {
            assert_eq!(row[name], n_times_n[name]);
        }
        ["groups", "ni", "nj"].map(|name| row[name].as_u64().expect("a count"))
    };
    rows.chunks(2).zip(work).map(|(pair, work)| shape(pair, work)).collect()
}

#[test]
fn bench_of_lists_compares_every_form_of_lists_with_as_many_pairs_n_times_n() {
    let arguments = "bench --lists --groups 2 --backend cpu --seconds 0.001";
    let report = json(arguments);
    let works = ["lists_of_addresses", "lists_of_addresses", "lists_of_own_sources", "lists_of_ranges"];
    let expected = [[2, 256, 4000], [2, 32, 500], [2, 256, 3000], [2, 256, 4000]];
    assert_eq!(rows_of_groups(&report, &works), expected);
    for (n_times_n, [groups, sinks, sources]) in report.as_array().unwrap().iter().skip(1).step_by(2).zip(expected) {
        let n = ((groups * sinks * sources) as f64).sqrt().round();
        assert_eq!([number(&n_times_n["ni"]), number(&n_times_n["nj"])], [n; 2]);
    }
    assert!(report[0]["order"] == 2 && report[0]["precision"] == "single", "{}", report[0]);
    let report = json(&format!("{arguments} --order 6 --threads 1"));
    assert_eq!(rows_of_groups(&report, &works), expected);
    assert!(report[0]["precision"] == "mixed" && report[0]["threads"] == 1, "{}", report[0]);

    let table = String::from_utf8(run(arguments).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 + 4 && lines[0].contains("order 2, single"), "{table}");
    let names = ["lists of addresses", "lists of addresses", "lists of own sources", "ranges of addresses"];
    for ((line, name), [groups, sinks, sources]) in lines[2..].iter().zip(names).zip(expected) {
        let numbers = line.strip_prefix(name).expect("the name of the work").split_whitespace();
        let numbers: Vec<f64> = numbers.map(|word| word.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), 7, "{line}");
        assert_eq!(numbers[..3], [groups, sinks, sources].map(|count| count as f64));
    }
}

#[test]
fn bench_of_batches_compares_systems_with_as_many_pairs_as_the_largest_have() {
    let arguments = "bench --batch --n 3,20 --systems 5 --backend cpu --seconds 0.001";
    let report = json(arguments);
    let expected = [[5, 3, 3], [5, 20, 20]];
    assert_eq!(rows_of_groups(&report, &["batch"; 2]), expected);
    assert!([1, 3].iter().all(|row| report[*row]["nj"] == 45), "{report}");
    assert!(report[0]["order"] == 4 && report[0]["precision"] == "double", "{}", report[0]);
    assert_eq!(rows_of_groups(&json(&format!("{arguments} --order 8")), &["batch"; 2]), expected);

    let table = String::from_utf8(run(arguments).stdout).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 2 + 2 && lines[0].contains("order 4, double"), "{table}");
    for (line, [systems, bodies, _]) in lines[2..].iter().zip(expected) {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        assert_eq!(numbers.len(), 7, "{line}");
        assert_eq!(numbers[..2], [systems, bodies].map(|count| count as f64));
    }
}
