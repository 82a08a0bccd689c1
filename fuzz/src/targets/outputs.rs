//! Whatever can be read of a recording can be shown: as text, for machines, and as a page.

use howlate_analyse::compare::{Criteria, recordings};
use howlate_render::{self as render, ComparisonReport, Detail, PlotSymbols, is_legible};
use howlate_report::{Chart, NamedRecording, ReportInput, markdown, page, svg};

use super::{import, recording};
use crate::Target;

pub(crate) const TARGET: Target = Target { name: "outputs", seeds, body };

fn seeds() -> Vec<Vec<u8>> {
    [recording::seeds(), import::seeds()].concat()
}

fn body(input: &[u8]) {
    let Some(track) = recording::read(input).or_else(|| import::read(input)) else { return };
    let analysis = &track.analysis;
    let both = [Detail::Brief, Detail::Full].map(|detail| render::report(analysis, detail, 100));
    let text = both.concat() + &render::plots(analysis, 100, PlotSymbols::Unicode);
    drop(render::json(analysis, &[]));
    drop(render::csv(std::slice::from_ref(analysis), &["a".to_owned()]));
    drop(render::hlog(std::slice::from_ref(analysis)));
    drop(render::hgrm(std::slice::from_ref(analysis)));
    drop(render::influx(std::slice::from_ref(analysis)));
    drop(render::benchmark(std::slice::from_ref(analysis)));
    let asked = Criteria { confidence: 0.95, margin: None };
    let comparison = recordings(&track, std::slice::from_ref(&track), asked);
    let report = ComparisonReport {
        comparison: &comparison,
        criteria: asked,
        base: ("a", analysis),
        news: &[("a", analysis)],
    };
    let of = [NamedRecording::new("a", analysis)];
    let subject = ReportInput { recordings: &of, comparison: Some(report) };
    let noted = markdown(&subject, Some("run.svg".as_ref()));
    let pages = noted.text + &noted.picture.unwrap_or_default() + &page(&subject);
    Chart::ALL.into_iter().for_each(|kind| drop(svg(&subject, kind, None)));
    let shown = render::comparison_text(&report, render::Detail::Full, 100)
        + &render::comparison_markdown(&report)
        + &render::comparison_tap(&report);
    drop(render::comparison_junit(&report));
    let plain = (text + &pages + &shown).replace("\u{1b}[", "");
    assert!(plain.chars().all(|letter| is_legible(letter) || matches!(letter, '\n' | '\t')));
}
