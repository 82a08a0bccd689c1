//! The result as Markdown, for a pull request or a note.

use howlate_render::{legible, legible_lines, machine, markdown_text, meaning, to_repeat};

use crate::entry::Entry;
use crate::page::caveat_lines;
use crate::{Subject, answer, causes, comparison, deadline, errors, names, prose, tables};

/// The answer, the tables, what they mean, who made it late, what to know, the command.
pub fn markdown(subject: &Subject<'_>) -> String {
    let recordings = subject.recordings;
    let entries = Entry::all(recordings);
    let answer = answer::answer(&entries, subject.comparison.as_ref());
    let mut text = format!("## {}\n\n{}\n\n", answer::heading(&entries), prose::markdown(&answer));
    if let Some(missed) = deadline::sentence(&entries) {
        text.push_str(&format!("{}\n\n", prose::markdown(&missed)));
    }
    text.push_str(&subject.comparison.as_ref().map_or_else(String::new, comparison::markdown));
    for recording in recordings {
        let name = if recordings.len() > 1 {
            format!("**{}**: ", markdown_text(recording.name))
        } else {
            String::new()
        };
        let header = &recording.analysis.header;
        text.push_str(&format!(
            "{name}{} · {}\n\n",
            markdown_text(&machine(&header.system)),
            markdown_text(&header.started)
        ));
    }
    text.push_str(&format!("{}\n\n", markdown_text(&names::common(&entries))));
    let results = tables::brief(&entries);
    text.push_str(&format!("{}\n\n{}\n", results.caption, results.markdown()));
    if let Some(errors) = errors::errors(&entries) {
        text.push_str(&format!("{}\n\n{}\n", errors.caption, errors.markdown()));
    }
    let meanings: Vec<String> = recordings.iter().flat_map(|recording| meaning(recording.analysis)).collect();
    text.push_str(&list("What this means", &meanings));
    text.push_str(&causes::markdown(&entries));
    text.push_str(&list("What to know", &caveat_lines(&entries, recordings)));
    for recording in recordings {
        text.push_str(&format!("```sh\n{}\n```\n", legible(&to_repeat(recording.analysis))));
    }
    legible_lines(&text).into_owned()
}

fn list(heading: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let items: String = lines.iter().map(|line| format!("- {}\n", prose::markdown(line))).collect();
    format!("**{heading}**\n\n{items}\n")
}
