//! What the command prints fits into 80 columns where no terminal says otherwise, and into fewer
//! where one does.

mod common;

use common::{folder, kyoho};

/// Returns what a call prints in a folder of its own, whose width is said by the environment.
fn printed(arguments: &str, columns: Option<&str>) -> String {
    let mut command = kyoho();
    command.current_dir(folder(&arguments.replace([' ', '/'], "-"))).env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let output = command.args(arguments.split_whitespace()).output().expect("the command starts");
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn assert_fits(arguments: &str, text: &str, width: usize) {
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
    assert!(wide.is_empty() && !text.is_empty(), "{arguments}: {wide:#?}");
}

/// Returns the subcommands that a page of help lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn help_of_every_subcommand_fits() {
    let mut pages = vec![String::new()];
    let mut seen = 0;
    while let Some(page) = pages.pop() {
        let arguments = format!("{page} --help");
        let help = printed(&arguments, None);
        assert_fits(&arguments, &help, 80);
        // clap never divides the usage.
        let narrow = printed(&arguments, Some("60"));
        let texts: Vec<&str> = narrow.lines().filter(|line| !line.starts_with("Usage: ")).collect();
        assert_fits(&arguments, &texts.join("\n"), 60);
        pages.extend(subcommands(&help).into_iter().map(|name| format!("{page} {name}")));
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn tables_fit() {
    for arguments in [
        "info",
        "verify --table-only --bodies 16 --backend cpu",
        "verify --bodies 16 --backend cpu --order 2 --precision double --level portable --check sparse",
        "bench --n 100 --ni 10 --seconds 0.0001 --backend cpu",
        "bench --regular --n 100 --ni 10 --seconds 0.0001 --backend cpu",
        "bench --sweep --n 50 --seconds 0.0001 --backend cpu",
        "bench --speedup --devices 0,0,0 --n 100 --seconds 0.0001 --backend cpu",
        "bench --tree --phases --n 1000 --seconds 0.0001 --backend cpu",
        "bench --lists --groups 1 --seconds 0.0001 --backend cpu",
        "bench --batch --n 3 --systems 5 --seconds 0.0001 --backend cpu",
        "converge --n 8 --halvings 1 --backend cpu",
    ] {
        assert_fits(arguments, &printed(arguments, None), 80);
    }
}

#[test]
fn texts_fit_into_a_narrow_terminal() {
    let info = printed("info", Some("60"));
    let texts = info.lines().take_while(|line| !line.starts_with("order"));
    assert_fits("info", &texts.collect::<Vec<_>>().join("\n"), 60);
}
