//! What results are printed as.

use clap::ValueEnum;

/// What results can be printed as.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables for people
    #[default]
    Text,
    /// One object with everything
    Json,
    /// One row per condition
    Csv,
    /// One row per sleep, in order
    Intervals,
    /// HdrHistogram log, one line per condition
    Hlog,
    /// Percentiles for HdrHistogram's plotter
    Hgrm,
    /// JUnit XML: one case per limit of --fail-above
    Junit,
    /// Test Anything Protocol 13: one point per limit of --fail-above
    Tap,
    /// Calls of LAVA's lava-test-case
    Lava,
    /// Report for KCIDB
    Kcidb,
    /// Entries for github-action-benchmark (customSmallerIsBetter)
    Benchmark,
    /// Bencher Metric Format
    Bmf,
    /// InfluxDB line protocol
    Influx,
    /// OSADL's RT Dataset 1.0, one line per condition of periodic threads
    Osadl,
    /// The worst wake-ups of --why, for ui.perfetto.dev
    Trace,
    /// What a folder of howlate record has of all CPUs, for ui.perfetto.dev and trace_processor (protobuf)
    Perfetto,
    /// Folded stacks of a folder of howlate record, for flame graphs
    Folded,
}
