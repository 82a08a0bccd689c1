//! Lines of code to copy into a program, for the page and for Markdown.

use howlate_render::{Code, code};
use maud::{Markup, html};

use crate::NamedRecording;
use crate::prose::collapsed;

/// Code snippets that the recordings support, without duplicates.
fn all(recordings: &[NamedRecording<'_>]) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    for snippet in recordings.iter().flat_map(|recording| code(recording.analysis)) {
        if !all.contains(&snippet) {
            all.push(snippet);
        }
    }
    all
}

fn heading(code: &Code) -> String {
    format!("To copy: {}", code.about())
}

/// One collapsed section per snippet, with each language.
pub(crate) fn html(recordings: &[NamedRecording<'_>]) -> Markup {
    html! {
        @for code in &all(recordings) {
            details {
                summary { (heading(code)) }
                @for (language, lines) in &code.each {
                    h4 { (language) }
                    pre tabindex="0" { code { (lines.join("\n")) } }
                }
            }
        }
    }
}

/// Collapsed sections of fenced blocks.
pub(crate) fn markdown(recordings: &[NamedRecording<'_>]) -> String {
    let block = |(language, lines): &(String, Vec<String>)| {
        format!("{language}:\n\n```{}\n{}\n```\n\n", fence_language(language), lines.join("\n"))
    };
    let section = |code: &Code| collapsed(&heading(code), &code.each.iter().map(block).collect::<String>());
    all(recordings).iter().map(section).collect()
}

/// GitHub's name of the language, for syntax highlighting.
fn fence_language(language: &str) -> &'static str {
    match language {
        "C" => "c",
        "Rust" => "rust",
        "Python" => "python",
        "shell" => "sh",
        _ => "cpp",
    }
}
