//! The choices of integrators, and what runs tell of them.

use serde_json::Value;

use crate::common::{folder, run};
use crate::{json, length, number, rows, separation};

#[test]
fn close_passages_that_change_an_energy_are_told() {
    let bodies = folder("radial").join("radial.txt");
    // The first body is far away, and the others fall towards each other from rest.
    std::fs::write(&bodies, "1e-9 50 0 0 0 0 0\n0.5 0.5 0.1 0 0 0 0\n0.5 -0.5 0.1 0 0 0 0\n").expect("a file");
    let arguments = format!("run {} --backend cpu --precision double --interval 1", bodies.display());
    assert_eq!(number(&json(&format!("{arguments} --t-end 1"))["energy_jumps"]), 0.0);
    let report = json(&format!("{arguments} --t-end 2"));
    let jump = &report["last_energy_jump"];
    assert!(number(&report["energy_jumps"]) >= 1.0 && jump["bodies"] == serde_json::json!([2, 3]), "{report}");
    assert!((number(&jump["time"]) - 1.11).abs() < 0.01 && number(&jump["energy"]).abs() > 10.0, "{jump}");
    let text = run(&format!("{arguments} --t-end 2"));
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.contains("warning         close passages that changed an energy: "), "{text}");
    assert!(text.contains("; the last one of bodies 2 and 3 at time 1.11"), "{text}");
}

#[test]
fn the_accuracy_parameter_goes_with_the_order() {
    let folder = folder("accuracy-parameter");
    let settings = "--backend cpu --precision double";
    json(&format!("run --plummer 32 --eps 0.1 --eta 0.03 --t-end 0.1 {settings} --output {}", folder.display()));
    let resume = format!("run --resume {} --t-end 0.2 --backend cpu", folder.join("snapshot-000016.txt").display());
    for (order, eta) in [
        ("--order 4", 0.03),
        ("--order 6", 0.2),
        ("--order 6 --criterion average", 0.3),
        ("--order 8", 0.3),
        ("--order 8 --eta 0.2", 0.2),
    ] {
        assert_eq!(number(&json(&format!("{resume} {order}"))["eta"]), eta, "{order}");
    }
    // The report has the parameter of the averaged criterion if there is one.
    assert_eq!(json(&resume)["eta4"], Value::Null);
    assert_eq!(number(&json(&format!("{resume} --order 6 --precision mixed"))["eta4"]), 0.01);
}

#[test]
fn a_criterion_that_was_chosen_stays_with_the_order_in_every_precision() {
    let folder = folder("criterion");
    let settings = "--backend cpu --plummer 32 --eps 0.1 --t-end 0.125 --interval 0.0625";
    let report = |more: &str| json(&format!("run {settings} {more} --overwrite --output {}", folder.display()));
    let averaged = report("--order 6 --precision double --criterion average --eta4 0.02");
    assert_eq!(number(&averaged["eta4"]), 0.02);
    let resume = format!("run --resume {} --t-end 0.25 --backend cpu", folder.join("snapshot-000002.txt").display());
    assert_eq!(number(&json(&resume)["eta4"]), 0.02);
    assert_eq!(json(&format!("{resume} --criterion order"))["eta4"], Value::Null);
    assert_eq!(json(&format!("{resume} --order 8"))["eta4"], Value::Null);
    // The criterion of order 4 wants longer steps here.
    let own = report("--order 6 --precision double");
    assert!(number(&own["steps"]) > number(&averaged["steps"]), "{own} {averaged}");
    assert_eq!(own["steps"], report("--order 6 --precision double --criterion order")["steps"]);
    let mixed = ["usual", "average"].map(|name| report(&format!("--order 6 --criterion {name}"))["steps"].clone());
    assert_eq!(mixed[0], mixed[1]);
}

#[test]
fn half_the_step_has_the_error_that_the_order_promises() {
    let picture = folder("converge").join("errors.svg");
    let report = json(&format!("converge --backend cpu --plot {}", picture.display()));
    let rows = report.as_array().expect("an array of rows");
    assert_eq!(rows.len(), 3 * 7);
    for (rows, order) in rows.chunks(7).zip([4.0, 6.0, 8.0]) {
        assert!(rows.iter().all(|row| number(&row["order"]) == order));
        assert!(rows[0]["slope"].is_null());
        // The two longest steps are still too long for the slope, and below 1e-14 rounding
        // dominates.
        let slopes: Vec<f64> = rows[2..].iter().filter_map(|row| row["slope"].as_f64()).collect();
        let mean = slopes.iter().sum::<f64>() / slopes.len() as f64;
        assert!(slopes.len() >= 2 && (mean - order).abs() < 0.5, "{order}: {slopes:?}");
        assert!(number(&rows[6]["relative_error"]) < 1e-11);
    }
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    // The picture has the points, and one more for each order in the legend.
    assert_eq!(svg.matches("<circle").count(), 3 * 7 + 3);

    let table = String::from_utf8(run("converge --backend cpu --order 6 --n 16 --halvings 2").stdout).unwrap();
    let steps = table.lines().skip(2).map(|line| line.split_whitespace().nth(1).unwrap());
    assert_eq!(steps.collect::<Vec<_>>(), ["0.125", "0.0625", "0.03125"], "{table}");
}

#[test]
fn the_leapfrog_is_of_second_order_in_the_shared_step() {
    let error = |step: f64| {
        let report = json(&format!(
            "run --plummer 64 --eps 0.2 --order 2 --dt {step} --precision double --t-end 1 --interval 1"
        ));
        assert_eq!(number(&report["block_steps"]), (1.0 / step).round());
        assert_eq!(number(&report["steps"]), 64.0 * (1.0 / step).round());
        assert_eq!(report["closest_approach"], Value::Null);
        number(&report["relative_error"]).abs()
    };
    let ratio = error(1.0 / 64.0) / error(1.0 / 128.0);
    assert!((3.5..4.5).contains(&ratio), "{ratio}");
}

#[test]
fn gravity_and_time_go_together() {
    // Four times the gravity from the same start at twice the speed gives the same motion in half
    // the time.
    let folder = folder("gravity");
    let (slow, fast) = (folder.join("slow.txt"), folder.join("fast.txt"));
    std::fs::write(&slow, "1 1 0 0 0 0.4 0\n1 -1 0 0 0 -0.4 0\n").expect("the folder takes files");
    std::fs::write(&fast, "1 1 0 0 0 0.8 0\n1 -1 0 0 0 -0.8 0\n").expect("the folder takes files");
    let settings = format!("--precision double --overwrite --output {}", folder.display());
    json(&format!("run {} --t-end 2 --interval 2 {settings}", slow.display()));
    let of_slow = rows(&folder.join("snapshot-000001.txt"));
    json(&format!("run {} --t-end 1 --interval 1 --G 4 {settings}", fast.display()));
    let of_fast = rows(&folder.join("snapshot-000001.txt"));
    for (slow, fast) in of_slow.iter().zip(&of_fast) {
        assert!(length(separation(slow, fast)) < 1e-14, "{slow:?} {fast:?}");
    }
}

#[test]
fn one_body_moves_straight() {
    let folder = folder("one");
    let input = folder.join("one.txt");
    std::fs::write(&input, "2 0 0 0 1 2 3\n").expect("the folder takes files");
    let report = json(&format!("run {} --t-end 4 --interval 4 --output {}", input.display(), folder.display()));
    assert_eq!(number(&report["final_energy"]), 14.0);
    assert_eq!(rows(&folder.join("snapshot-000001.txt"))[0][1..4], [4.0, 8.0, 12.0]);
}

#[test]
fn the_energy_error_is_drawn() {
    let picture = folder("plot").join("energy.svg");
    let report = json(&format!("run --plummer 16 --eps 0.1 --precision double --plot {}", picture.display()));
    let svg = std::fs::read_to_string(&picture).expect("the picture is there");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The picture has a point for each of the sixteen intervals and the line that joins them. The
    // error of the start is zero and has no place on a logarithmic axis.
    let energies = report["energies"].as_array().expect("an array of energies");
    let others = energies.iter().filter(|row| number(&row["relative_error"]) != 0.0).count();
    assert!(energies.len() == 17 && (1..17).contains(&others));
    assert_eq!(svg.matches("<circle").count(), others);
    assert!(svg.contains("<polyline") && svg.contains("|E - E0|"));
}
