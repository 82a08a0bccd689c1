//! The report as Markdown, for a pull request or a note.

use std::ffi::OsStr;

use howlate_render::{is_foreign, legible, legible_lines, markdown_text, to_repeat};

use crate::document::address;
use crate::entry::{Entry, not_shown, shown};
use crate::explanations::{loop_tables, meaning_lines};
use crate::fleet::FleetNodes;
use crate::page::{caveat_lines, where_it_was};
use crate::pictures::{PictureSource, first, picture};
use crate::svg::draw;
use crate::{
    NamedRecording, ReportInput, answer, causes, code_to_copy, comparison, condition_names, deadline, prose,
    sleep_errors, tables,
};

/// A report as Markdown, and the picture that it links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// Links the picture if there is one.
    pub text: String,
    /// SVG of the linked picture; `None` where nothing was measured.
    pub picture: Option<String>,
}

/// Verdict, picture, tables, causes, meaning, caveats, command. `picture_name` is the file name that the
/// text links; `None`: no picture.
pub fn markdown(subject: &ReportInput<'_>, picture_name: Option<&OsStr>) -> Markdown {
    let entries = Entry::all(subject.recordings);
    let fleets = FleetNodes::all(subject.recordings);
    let source = PictureSource { entries: &entries, comparison: subject.comparison, fleets: &fleets };
    let with_picture = picture_name.and_then(|name| Some((name, picture(first(&entries), source)?)));
    let link = with_picture.as_ref().map(|(name, picture)| image(&picture.title, &address(name)));
    let text = [
        verdict(subject, &entries),
        link.unwrap_or_default(),
        nodes(&fleets),
        results(subject.recordings, &entries),
        subject.comparison.as_ref().map_or_else(String::new, comparison::markdown),
        causes::markdown(&entries),
        list("What this means", &meaning_lines(subject.recordings)),
        code_to_copy::markdown(subject.recordings),
        list("What to know", &caveat_lines(&entries, subject.recordings)),
        repeat(subject.recordings),
    ]
    .concat();
    let picture = with_picture.map(|(_, picture)| draw(&picture, None));
    Markdown { text: legible_lines(&text).into_owned(), picture }
}

/// The comparison's answer, how late, and missed deadlines.
fn verdict(subject: &ReportInput<'_>, entries: &[Entry<'_>]) -> String {
    let heading = answer::heading(entries);
    let compared = subject.comparison.as_ref().map(|comparison| comparison.messages().answer);
    let compared =
        compared.map_or_else(String::new, |compared| format!("**{}**\n\n", prose::markdown(&compared)));
    let answer = answer::answer(entries, subject.comparison.as_ref());
    let mut text = format!("## {heading}\n\n{compared}{}\n\n", prose::markdown(&answer));
    if let Some(missed) = deadline::sentence(entries) {
        text.push_str(&format!("{}\n\n", prose::markdown(&missed)));
    }
    text
}

fn image(title: &str, address: &str) -> String {
    format!("![{}]({address})\n\n", markdown_text(title).replace(']', "\\]"))
}

/// Outliers among the nodes of a fleet.
fn nodes(fleets: &[FleetNodes<'_>]) -> String {
    let section = |fleet: &FleetNodes<'_>| {
        let several = fleets.len() > 1;
        let name = if several { format!("Nodes of {}", fleet.recording.name) } else { "Nodes".to_owned() };
        list(&markdown_text(&name), &fleet.sentences())
    };
    fleets.iter().map(section).collect()
}

/// The tables, the common condition and the machines.
fn results(recordings: &[NamedRecording<'_>], entries: &[Entry<'_>]) -> String {
    let left_out = not_shown(entries).map(|sentence| format!("{}\n\n", prose::markdown(&sentence)));
    let entries = &shown(entries);
    let results = tables::brief(entries);
    let mut text = left_out.unwrap_or_default();
    text.push_str(&format!("{}\n\n{}\n", results.caption, results.markdown()));
    if let Some(errors) = sleep_errors::errors(entries) {
        text.push_str(&format!("{}\n\n{}\n", errors.caption, errors.markdown()));
    }
    for loops in loop_tables(entries) {
        text.push_str(&format!("{}\n\n{}\n", loops.caption, loops.markdown()));
    }
    let machines: String =
        recordings.iter().map(|recording| machine(recording, recordings.len() > 1)).collect();
    text + &format!("{}\n\n{machines}", markdown_text(&condition_names::common(entries)))
}

fn machine(recording: &NamedRecording<'_>, is_named: bool) -> String {
    let name = if is_named { format!("**{}**: ", markdown_text(recording.name)) } else { String::new() };
    format!("{name}{}\n\n", markdown_text(&where_it_was(recording.analysis)))
}

fn repeat(recordings: &[NamedRecording<'_>]) -> String {
    let command =
        |recording: &NamedRecording<'_>| format!("```sh\n{}\n```\n", legible(&to_repeat(recording.analysis)));
    let own = recordings.iter().filter(|recording| !is_foreign(recording.analysis));
    let commands: String = own.map(command).collect();
    if commands.is_empty() { commands } else { format!("**To repeat the measurement**\n\n{commands}") }
}

fn list(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("- {}\n", prose::markdown(line))).collect();
    format!("**{heading}**\n\n{items}\n")
}
