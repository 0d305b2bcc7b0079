//! A measurement, and the line of a table that shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::failure::Result;
use kyoho_core::Scope;

/// The work that one row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// The forces on every source as a sink. Nothing was written or predicted since the last call.
    NTimesN,
    /// Writing `ni` sources, or all if there are fewer, setting a new time, and computing the forces
    /// on `ni` sinks.
    BlockStep,
    /// A block step with the lists of the neighbours that the forces leave out.
    BlockStepLists,
    /// The force on one sink at the time of the previous call.
    OneSink,
    /// The force on one sink at a new time, to which all sources are predicted.
    OneSinkPredicted,
    /// Writing one source.
    SetSource,
    /// The forces on groups of sinks, whose sources are listed by their addresses.
    ListsOfAddresses,
    /// The forces on groups of sinks, whose sources come with the call.
    ListsOfOwnSources,
    /// The forces on groups of sinks, whose sources have consecutive addresses.
    ListsOfRanges,
    /// The forces in many systems.
    Batch,
    /// Writing every source and computing the forces on all of them by a tree.
    Tree,
    /// The forces on every source as a sink by a tree. Nothing was written since the last call.
    TreeSourcesStay,
}

impl Work {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Work::NTimesN => "N x N",
            Work::BlockStep => "block step",
            Work::BlockStepLists => "block step, lists",
            Work::OneSink => "one sink, same time",
            Work::OneSinkPredicted => "one sink, new time",
            Work::SetSource => "set_source",
            Work::ListsOfAddresses => "lists of addresses",
            Work::ListsOfOwnSources => "lists of own sources",
            Work::ListsOfRanges => "ranges of addresses",
            Work::Batch => "batch",
            Work::Tree => "tree",
            Work::TreeSourcesStay => "tree, sources stay",
        }
    }
}

/// A measured row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub work: Work,
    pub backend: &'static str,
    /// The names of the devices.
    pub device: String,
    /// Their numbers among those of the backend. A device that is named twice has two assignments
    /// of each block.
    pub devices: Vec<usize>,
    pub order: i32,
    pub precision: &'static str,
    pub scope: &'static str,
    /// The number of threads. Only the CPU backend has it and the level.
    pub threads: Option<usize>,
    pub level: Option<&'static str>,
    pub ni: usize,
    pub nj: usize,
    /// The median time of a call in seconds.
    pub seconds: f64,
    /// The median on one device in the same run, divided by this one. Only `--speedup` measures it.
    pub speedup: Option<f64>,
    /// The number of calls behind the median.
    pub calls: usize,
    /// The seconds of a block step by the cost model of the devices, if they have one.
    pub model_seconds: Option<f64>,
    pub interactions_per_second: Option<f64>,
    pub flops_per_second: Option<f64>,
    /// The time that prediction adds to a force on one sink, for each source.
    pub prediction_seconds_per_source: Option<f64>,
    /// The number of groups of `ni` sinks and `nj` sources each, or of systems of a batch.
    pub groups: Option<usize>,
    pub groups_per_second: Option<f64>,
    /// Whether the arrays of groups lie on the device.
    pub on_device: Option<bool>,
    /// The pairs a second of groups, divided by those of forces N x N in the same run.
    pub of_n_times_n: Option<f64>,
    /// The accuracy that a tree was asked for.
    pub accuracy: Option<f64>,
    /// The opening angle that a tree was asked for.
    pub theta: Option<f64>,
    /// How its forces are summed: `cells`, `stackless` or `stackless-unsorted`.
    pub walk: Option<&'static str>,
    /// The seconds of each phase of one more call, and of the rest of it. Only `--phases` measures
    /// them, and the number of interactions of a sink.
    pub phase_seconds: Option<BTreeMap<&'static str, f64>>,
    pub interactions_per_sink: Option<f64>,
    /// The median of the relative errors of accelerations by it, and the 99th percentile.
    pub error_median: Option<f64>,
    pub error_percentile_99: Option<f64>,
    /// The time of direct sums of as many bodies in the same run, divided by that of the tree.
    pub of_direct: Option<f64>,
}

impl Row {
    /// Describes the place of the measurement in words.
    pub fn title(&self) -> String {
        let Row { device, order, precision, scope, .. } = self;
        let scope = if *scope == Scope::Full.name() { "" } else { ", regular" };
        let threads = self.threads.map_or(String::new(), |threads| match threads {
            1 => ", 1 thread".into(),
            _ => format!(", {threads} threads"),
        });
        let level = self.level.map_or(String::new(), |level| format!(", {level}"));
        format!("{device}{level}{threads}: order {order}, {precision}{scope}")
    }

    /// Returns an example of a row of a block step, for tests.
    #[cfg(test)]
    pub fn example() -> Row {
        Row {
            work: Work::BlockStep,
            backend: "cuda",
            device: "some GPU".into(),
            devices: vec![0],
            order: 4,
            precision: "mixed",
            scope: "full",
            threads: None,
            level: None,
            ni: 1,
            nj: 1,
            seconds: 1.0,
            speedup: None,
            calls: 3,
            model_seconds: None,
            interactions_per_second: None,
            flops_per_second: None,
            prediction_seconds_per_source: None,
            groups: None,
            groups_per_second: None,
            of_n_times_n: None,
            on_device: None,
            accuracy: None,
            theta: None,
            walk: None,
            phase_seconds: None,
            interactions_per_sink: None,
            error_median: None,
            error_percentile_99: None,
            of_direct: None,
        }
    }
}

/// The names of the columns of a row.
const HEADER: &str = "work                       ni        nj     microseconds    Gint/s   TFLOPS";

/// Prints a row, below its place and the names of the columns if the row before was of another
/// place, order, precision or scope.
pub fn print(before: Option<&Row>, row: &Row) -> Result<()> {
    let place = |row: &Row| format!("{}: {}", row.backend, row.title());
    if before.is_none_or(|before| place(before) != place(row)) {
        out_wrapped!(2, "{}", place(row))?;
        out!("{HEADER}")?;
    }
    let Row { work, ni, nj, .. } = row;
    let rate = |rate: Option<f64>, unit: f64| rate.map_or("-".into(), |rate| format!("{:.4}", rate / unit));
    out!(
        "{:<20}  {ni:>7}  {nj:>8}  {:>15.3}  {:>8}  {:>7}",
        work.name(),
        row.seconds * 1e6,
        rate(row.interactions_per_second, 1e9),
        rate(row.flops_per_second, 1e12),
    )
}
