//! Every output of every recording that can be read: text, machine-readable formats, pages, pictures.

use howlate_analyse::compare::{self, Criteria};
use howlate_render::{self as render, ComparisonReport, Detail, PlotSymbols, is_legible};
use howlate_report::{Chart, NamedRecording, ReportInput, markdown, page, svg};

use super::recordings::{foreign_results, read_import, read_recording, recordings};
use crate::Target;

pub(crate) const TARGET: Target = Target { name: "outputs", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    [recordings(), foreign_results()].concat()
}

fn body(input: &[u8]) {
    let Some(track) = read_recording(input).or_else(|| read_import(input)) else { return };
    let analysis = &track.analysis;
    let reports = [Detail::Brief, Detail::Full].map(|detail| render::report(analysis, detail, 100));
    let text = reports.concat() + &render::plots(analysis, 100, PlotSymbols::Unicode);
    drop(render::json(analysis, &[]));
    drop(render::csv(std::slice::from_ref(analysis), &["a".to_owned()]));
    drop(render::hlog(std::slice::from_ref(analysis)));
    drop(render::hgrm(std::slice::from_ref(analysis)));
    drop(render::influx(std::slice::from_ref(analysis)));
    drop(render::benchmark(std::slice::from_ref(analysis)));
    let criteria = Criteria { confidence: 0.95, margin: None };
    let comparison = compare::recordings(&track, std::slice::from_ref(&track), criteria);
    let report = ComparisonReport {
        comparison: &comparison,
        criteria,
        base: ("a", analysis),
        news: &[("a", analysis)],
    };
    let recordings = [NamedRecording::new("a", analysis)];
    let report_input = ReportInput { recordings: &recordings, comparison: Some(report) };
    let markdown = markdown(&report_input, Some("run.svg".as_ref()));
    let pages = markdown.text + &markdown.picture.unwrap_or_default() + &page(&report_input);
    Chart::ALL.into_iter().for_each(|kind| drop(svg(&report_input, kind, None)));
    let shown = render::comparison_text(&report, render::Detail::Full, 100)
        + &render::comparison_markdown(&report)
        + &render::comparison_tap(&report);
    drop(render::comparison_junit(&report));
    let plain = (text + &pages + &shown).replace("\u{1b}[", "");
    assert!(plain.chars().all(|letter| is_legible(letter) || matches!(letter, '\n' | '\t')));
}
