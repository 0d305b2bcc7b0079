//! Pair interactions in a text of one's own.

use crate::common::{folder, run};
use crate::failure;

/// A model in HDF5, whose datasets a text names, has the potential of the model's text.
#[test]
fn pair_reads_datasets_of_hdf5() {
    let folder = folder("pair-hdf5");
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(
        path("p.pair"),
        "pair p\ni positions: vec3<f64>\nj positions: vec3<f64>, masses: f64\nresult pot: f64 sum\nbody\n\
         r2 = norm2(i.positions - j.positions)\nskip if r2 == 0\npot += j.masses / sqrt(r2)\n",
    )
    .unwrap();
    let model = run("model plummer 50").stdout;
    let rows = String::from_utf8(model).unwrap();
    let rows = rows.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect::<Vec<_>>());
    let table = |columns: &dyn Fn(&[&str]) -> Vec<String>| {
        rows.clone().map(|row| columns(&row).join(" ") + "\n").collect::<String>()
    };
    let some = |row: &[&str], places: &[usize]| places.iter().map(|place| row[*place].to_string()).collect();
    std::fs::write(path("i.txt"), table(&|row| some(row, &[1, 2, 3]))).unwrap();
    std::fs::write(path("j.txt"), table(&|row| some(row, &[1, 2, 3, 0]))).unwrap();
    let [text, hdf5] = ["p.pair", "m.h5"].map(path);
    run(&format!("model plummer 50 --format hdf5 --output {hdf5}"));
    let of_text = run(&format!("pair run {text} --i {} --j {}", path("i.txt"), path("j.txt"))).stdout;
    let of_hdf5 = run(&format!("pair run {text} --i {hdf5} --j {hdf5}")).stdout;
    assert_eq!(of_hdf5, of_text);
    assert_eq!(of_text.iter().filter(|byte| **byte == b'\n').count(), 51);

    let wide = path("wide.pair");
    std::fs::write(&wide, "pair p\ni masses: vec2<f64>\nresult n: u32 count\nbody\nn count= i.masses.x > 0\n").unwrap();
    let error = failure(1, &format!("pair run {wide} --i {hdf5} --sources 1"));
    assert!(error.contains("the dataset 'masses': its shape is [50]; allowed: [N, 2]"), "{error}");
    std::fs::write(&wide, "pair p\ni weights: f64\nresult n: u32 count\nbody\nn count= i.weights > 0\n").unwrap();
    let error = failure(1, &format!("pair run {wide} --i {hdf5} --sources 1"));
    assert!(error.contains("the dataset 'weights': "), "{error}");
}

/// Two charges at a distance of 2 in a text of one's own, and what is wrong with a text or a table.
#[test]
fn pair_runs_a_text_on_columns() {
    let folder = folder("pair");
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let text = file(
        "p.pair",
        "pair p\ni x: f64\nj x: f64, q: f64\nparam k: f64\nresult pot: f64 sum\nbody\npot += k * j.q / abs(i.x - j.x)\n",
    );
    let (sinks, sources) = (file("i.txt", "# x\n1\n2\n"), file("j.txt", "3, 4d0\n5;1\n"));
    let output = run(&format!("pair run {text} --i {sinks} --j {sources} --param k=2"));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "# pot\n4.5e0\n8.666666666666666e0\n");
    let explained = String::from_utf8(run(&format!("pair explain --dd {text}")).stdout).unwrap();
    assert!(explained.contains("once a source:\n") && explained.contains(" = k * j.q : dd"), "{explained}");
    assert!(
        explained.trim_end().ends_with(" pairs a second on one H200, bound by its units for doubles"),
        "{explained}"
    );

    let least = file("least.pair", "pair p\nj x: f64\nresult most: f64 max\nbody\n  most max= j.x\n");
    for (numbers, most) in [("1\n-inf\nnan\n", "1e0"), ("1\ninf\n", "inf")] {
        let printed = run(&format!("pair run {least} --j {} --sinks 1", file("x.txt", numbers))).stdout;
        assert_eq!(String::from_utf8(printed).unwrap(), format!("# most\n{most}\n"));
    }
    let error = failure(2, &format!("pair run {text} --i {sinks} --j {sources} --param k=2 --param k=3"));
    assert!(error.contains("--param is k=3; allowed: each parameter once"), "{error}");

    let wrong = file("wrong.pair", "pair p\nresult pot: f64 sum\nbody\npot += q\n");
    assert!(failure(1, &format!("pair explain {wrong}")).contains("line 4, column 8: there is no 'q'; allowed: "));
    let short = file("short.txt", "3 4\n5\n");
    let error = failure(1, &format!("pair run {text} --i {sinks} --j {short} --param k=2"));
    assert!(error.contains("short.txt, line 2: 1 numbers; allowed: 2"), "{error}");
    let error = failure(1, &format!("pair run {text} --i {sinks} --j {sources}"));
    assert!(error.contains("the parameter k is not there"), "{error}");
}
