//! Output of results: tables, pages, exports, comparisons and merges.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod bug_reports;
mod compare;
mod foreign;
mod foreign_statements;
mod golden;
mod integrations;
mod merge;
mod one_screen;
mod questions;
mod recorder;
mod report;
mod serve;
mod snippets;
mod untrusted_text;
mod widths;
