//! Lines of code to copy into a program, for the page and for Markdown.

use howlate_render::{Code, code};
use maud::{Markup, html};

use crate::Recording;
use crate::prose::folded;

/// What recordings bear out; what several of them do stands once.
fn all(recordings: &[Recording<'_>]) -> Vec<Code> {
    let mut all: Vec<Code> = Vec::new();
    for one in recordings.iter().flat_map(|recording| code(recording.analysis)) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn heading(code: &Code) -> String {
    format!("To copy: {}", code.about())
}

/// Folded, one language below the other.
pub(crate) fn html(recordings: &[Recording<'_>]) -> Markup {
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

/// The same as fenced blocks.
pub(crate) fn markdown(recordings: &[Recording<'_>]) -> String {
    let block = |(language, lines): &(String, Vec<String>)| {
        format!("{language}:\n\n```{}\n{}\n```\n\n", highlighted(language), lines.join("\n"))
    };
    let of_one = |code: &Code| folded(&heading(code), &code.each.iter().map(block).collect::<String>());
    all(recordings).iter().map(of_one).collect()
}

/// What GitHub colours the lines as.
fn highlighted(language: &str) -> &'static str {
    match language {
        "C" => "c",
        "Rust" => "rust",
        "Python" => "python",
        "shell" => "sh",
        _ => "cpp",
    }
}
