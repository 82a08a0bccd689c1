//! The result as Markdown, for a pull request or a note.

use std::ffi::OsStr;

use howlate_render::{is_foreign, legible, legible_lines, markdown_text, to_repeat};

use crate::address::address;
use crate::entry::{Entry, not_shown, shown};
use crate::explanations::meaning_lines;
use crate::fleet::Fleet;
use crate::page::{caveat_lines, where_it_was};
use crate::pictures::{Source, first, picture};
use crate::svg::draw;
use crate::{
    Recording, Subject, answer, causes, code_to_copy, comparison, condition_names, deadline, event_loops,
    prose, sleep_errors, tables,
};

/// The result as Markdown, and what it links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markdown {
    /// The text, with a link to the picture if there is one.
    pub text: String,
    /// The picture that the text shows, as SVG; `None` where nothing was measured.
    pub picture: Option<String>,
}

/// The verdict, a picture, the tables, who made it late, what the numbers mean, what to know, the command. The picture is
/// linked by the name of its file, `beside`; without one there is none.
pub fn markdown(subject: &Subject<'_>, beside: Option<&OsStr>) -> Markdown {
    let entries = Entry::all(subject.recordings);
    let fleets = Fleet::all(subject.recordings);
    let source = Source { entries: &entries, comparison: subject.comparison, fleets: &fleets };
    let shown = beside.and_then(|name| Some((name, picture(first(&entries), source)?)));
    let link = shown.as_ref().map(|(name, picture)| image(&picture.title, &address(name)));
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
    let picture = shown.map(|(_, picture)| draw(&picture, None));
    Markdown { text: legible_lines(&text).into_owned(), picture }
}

/// What differs, how late, and what a deadline would have cost.
fn verdict(subject: &Subject<'_>, entries: &[Entry<'_>]) -> String {
    let heading = answer::heading(entries);
    let told = subject.comparison.as_ref().map(|one| one.messages().answer);
    let told = told.map_or_else(String::new, |told| format!("**{}**\n\n", prose::markdown(&told)));
    let answer = answer::answer(entries, subject.comparison.as_ref());
    let mut text = format!("## {heading}\n\n{told}{}\n\n", prose::markdown(&answer));
    if let Some(missed) = deadline::sentence(entries) {
        text.push_str(&format!("{}\n\n", prose::markdown(&missed)));
    }
    text
}

fn image(title: &str, address: &str) -> String {
    format!("![{}]({address})\n\n", markdown_text(title).replace(']', "\\]"))
}

/// Which machines stand out, where several have measured.
fn nodes(fleets: &[Fleet<'_>]) -> String {
    let told = |fleet: &Fleet<'_>| {
        let several = fleets.len() > 1;
        let name = if several { format!("Nodes of {}", fleet.recording.name) } else { "Nodes".to_owned() };
        list(&markdown_text(&name), &fleet.sentences())
    };
    fleets.iter().map(told).collect()
}

/// What was measured, where, and the tables.
fn results(recordings: &[Recording<'_>], entries: &[Entry<'_>]) -> String {
    let left_out = not_shown(entries).map(|said| format!("{}\n\n", prose::markdown(&said)));
    let entries = &shown(entries);
    let results = tables::brief(entries);
    let mut text = left_out.unwrap_or_default();
    text.push_str(&format!("{}\n\n{}\n", results.caption, results.markdown()));
    if let Some(errors) = sleep_errors::errors(entries) {
        text.push_str(&format!("{}\n\n{}\n", errors.caption, errors.markdown()));
    }
    if let Some(loops) = event_loops::table(entries) {
        text.push_str(&format!("{}\n\n{}\n", loops.caption, loops.markdown()));
    }
    let machines: String = recordings.iter().map(|one| machine(one, recordings.len() > 1)).collect();
    text + &format!("{}\n\n{machines}", markdown_text(&condition_names::common(entries)))
}

fn machine(recording: &Recording<'_>, is_named: bool) -> String {
    let name = if is_named { format!("**{}**: ", markdown_text(recording.name)) } else { String::new() };
    format!("{name}{}\n\n", markdown_text(&where_it_was(recording.analysis)))
}

fn repeat(recordings: &[Recording<'_>]) -> String {
    let command = |one: &Recording<'_>| format!("```sh\n{}\n```\n", legible(&to_repeat(one.analysis)));
    let own = recordings.iter().filter(|one| !is_foreign(one.analysis));
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
