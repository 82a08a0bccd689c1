//! Text, tables and exports of results. Returns text, prints nothing.
//!
//! Text for people has ANSI styles; the caller strips them where the output is no terminal.

mod answer;
#[cfg(test)]
mod assert_published;
mod bounded_json;
mod cause_table;
mod cause_words;
mod caveats;
mod code_to_copy;
mod command_line;
mod commands_to_type;
mod compare;
pub mod condition;
mod confidence;
mod control_group_name;
mod csv;
mod cyclic;
mod detail;
mod ending;
mod export;
mod findings;
mod foreign;
mod gaps;
mod gate;
mod guests;
mod guests_result;
mod incidents;
mod insights;
mod json;
mod kept_timelines;
mod kernels;
mod last_run;
mod limit_lines;
mod live;
mod load_result;
mod loads;
mod machine;
mod merge_result;
mod native_buckets;
mod nodes;
mod notes;
mod notify;
pub mod numbers;
mod only_if;
mod perfetto;
mod plan;
mod plan_length;
mod plot;
mod progress;
pub mod property;
mod prose;
mod protobuf;
mod quick;
mod ratio;
mod recurrence;
mod result;
pub mod result_columns;
pub mod scale;
mod screen;
mod self_check;
mod shell_words;
mod sleep;
mod stage;
mod steps;
mod style;
mod table;
mod terminal_text;
mod top;
mod tune;
mod until;
mod untrusted_text;
mod watch;
mod watched_screen;
mod watched_slack;
mod why;

pub use bounded_json::bounded_json;
pub use cause_table::{CauseRow, CauseTable};
pub use cause_words::{cause_in_words, main_causes, part_in_words, percent, segment_in_words};
pub use caveats::{caveat, policy_remedy, sentences};
pub use code_to_copy::{Code, code};
pub use command_line::{to_repeat, watched};
pub use compare::{
    ComparisonReport, ComparisonSelfTest, ComparisonTexts, PairTexts, StatisticTexts, comparison_below,
    comparison_json, comparison_junit, comparison_markdown, comparison_tap, comparison_text, self_test,
    self_test_json,
};
pub use condition::condition;
pub use confidence::{larger_ones, what_the_maxima_support};
pub use csv::{csv, intervals_csv};
pub use detail::Detail;
pub use ending::{ending_after_title, marked};
pub use export::{
    benchmark, bmf, finding, hgrm, hlog, influx, junit, kcidb, lava, openmetrics, openmetrics2, osadl,
    prometheus, tap, trace,
};
pub use findings::findings;
pub use gaps::{GapsReport, gaps_progress, gaps_schema};
pub use gate::gate_lines;
pub use guests_result::guests;
pub use incidents::{
    HOW_CULPRITS_ARE_ADDED, IncidentReport, NO_SNAP_FILE, NodesIncidentReport, RecordEnd, RecordingState,
    bucketed, culprit_name, disk_refuses, disk_takes_again, folder_is_gone, held_up, held_up_by, how_late,
    idle_meanwhile, incident_cause, incidents_schema, late_above, late_metrics, late_metrics_protobuf,
    lines_not_written, part_of_incident, record_has_ended, snap_origin, victim, was_late,
};
pub use json::{json, json_of_many, json_value, result_schema};
pub use kept_timelines::{kept_timelines, perfetto, timeline_files};
pub use kernels::{KernelRow, kernel_list};
pub use last_run::LastRun;
pub use limit_lines::{limit_lines, stopped_above};
pub use live::live_overview;
pub use live::{ThreadSoFar, live};
pub use load_result::{LoadResult, PartEnd};
pub use loads::{load_effect, load_lines};
pub use machine::machine;
pub use merge_result::MergeResult;
pub use nodes::{node_sentences, nodes_in_short};
pub use notes::{doubtful, not_as_asked};
pub use plan::{boots, extent, plan, plan_list};
pub use plan_length::lengths_json;
pub use plot::{PlotSymbols, plots};
pub use progress::{boot_progress, most_left, progress, time_left};
pub use prose::{capitalised, unbroken, wrapped};
pub use quick::quick;
pub use ratio::times_as_much;
pub use recurrence::recurrence_in_words;
pub use result::{is_foreign, meaning, report, report_titled};
pub use screen::{RunState, Screen};
pub use self_check::{self_check, self_check_json};
pub use stage::{Stage, TuneStage};
pub use steps::steps_headline;
pub use terminal_text::{broken, replacement, shown};
pub use top::{KeyEffect, ORDERS, TopBy, TopControls, TopReport, TopRow, TopView, top_schema};
pub use tune::{
    ConfirmedNumber, ConfirmedSettings, SettingTrial, TrialStatus, TuneReport, TuneRow, TunedProgram,
    Unrestored, tune_announcement, tune_json, tune_listing, tune_listing_json, tune_restored,
    tune_restored_json, tune_schema, tune_takes, tune_text,
};
pub use until::{lengths, until, until_announcement, until_progress, watched_until};
pub use untrusted_text::{
    is_legible, legible, legible_json, legible_line, legible_lines, legible_value, markdown_text, tap_text,
};
pub use watch::{
    BlockedEventLoop, EventLoopRows, SlowestOfLoop, blocked_event_loop_lines, blocked_event_loops,
    event_loop_rows, omitted_answers, slowest_iterations, watched_beside, watched_live,
};
pub use why::why;
