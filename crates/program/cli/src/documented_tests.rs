//! Tests that commands in the documentation and in help texts parse.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::{Cli, expand_shorthand};

/// All pages of the documentation.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut pages = vec![root.join("README.md")];
    for folder in ["docs", "docs/evidence", "docs/evidence/experiments", "docs/tutorials"] {
        let all = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        pages.extend(all.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    pages
}

/// Where a command appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextLocation {
    /// On a line of its own, to be copied.
    Line,
    /// Within a sentence, possibly incomplete.
    Sentence,
}

/// Lines of code blocks, with continuation lines joined and without remarks, and text in backquotes.
fn commands(text: &str) -> Vec<(TextLocation, String)> {
    let text = text.split("\\\n").enumerate().map(join_line).collect::<String>();
    let mut found = Vec::new();
    let mut is_fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced || line.starts_with("    ") {
            let line = line.trim();
            found.push((TextLocation::Line, line.split("     ").next().unwrap_or(line).to_owned()));
        } else {
            let quoted = line.split('`').skip(1).step_by(2);
            found.extend(quoted.map(|part| (TextLocation::Sentence, part.replace("\\|", "|"))));
        }
    }
    found
}

/// A continuation line without its indentation.
fn join_line((number, part): (usize, &str)) -> String {
    if number == 0 { part.to_owned() } else { format!(" {}", part.trim_start()) }
}

/// Arguments of containers in the documentation parse: `args: [record, "--out", …]`.
#[test]
fn containers_are_started_with_what_can_be_typed() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs");
    let files = fs::read_dir(docs).unwrap().map(|entry| entry.unwrap().path());
    let mut found = 0;
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let text = fs::read_to_string(&path).unwrap();
        let lists = text.lines().filter_map(|line| line.trim().strip_prefix("args: [")?.strip_suffix(']'));
        for list in lists {
            let arguments = list.split(',').map(|word| word.trim().trim_matches('"'));
            let parsed = Cli::try_parse_from(std::iter::once("howlate").chain(arguments));
            assert!(parsed.is_ok(), "{}: {list}: {}", path.display(), parsed.err().unwrap());
            found += 1;
        }
    }
    assert!(found >= 3, "{found}");
}

/// Whether a shell token ends a command.
fn ends_command(word: &str) -> bool {
    matches!(word, "|" | "||" | "&&" | "&" | ";" | ">" | ">>" | "<" | "2>") || word.starts_with(['>', '|'])
}

/// Whether a word is a placeholder for the reader's own text.
fn is_placeholder(word: &str) -> bool {
    word.contains('…') || ["COMMAND", "SHELL", "OPTIONS", "FILE|"].contains(&word)
}

/// The calls of howlate in a line.
fn calls(line: &str) -> Vec<Vec<String>> {
    let Some(arguments) = shlex::split(line) else { return Vec::new() };
    let begins = |place: &usize| {
        let before = place.checked_sub(1).map(|place| arguments[place].as_str());
        let is_first =
            before.is_none_or(|before| ends_command(before) || ["$", "sudo", "-", "run:"].contains(&before));
        arguments[*place] == "howlate" && is_first
    };
    let call = |place: usize| -> Vec<String> {
        arguments[place..]
            .iter()
            .take_while(|word| !ends_command(word))
            .map(|word| word.trim_end_matches(';').to_owned())
            .collect()
    };
    let whole = |call: &Vec<String>| !call.iter().any(|word| is_placeholder(word));
    (0..arguments.len()).filter(begins).map(call).filter(whole).collect()
}

/// Why a call does not parse.
fn refused(call: &[String], place: TextLocation) -> Option<String> {
    let error = Cli::try_parse_from(expand_shorthand(call.iter().map(Into::into))).err()?;
    let is_accepted = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            place == TextLocation::Sentence
        }
        ErrorKind::InvalidValue => {
            place == TextLocation::Sentence && error.to_string().contains("but none was supplied")
        }
        _ => false,
    };
    (!is_accepted).then(|| error.to_string())
}

#[test]
fn what_the_pages_say_to_type_can_be_typed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for (place, line) in commands(&text) {
            for call in calls(&line) {
                count += 1;
                let why = refused(&call, place);
                wrong.extend(why.map(|why| format!("{}: {}\n{why}", page.display(), call.join(" "))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 150, "{count} calls in all");
}

#[test]
fn what_help_shows_can_be_typed() {
    let (mut count, mut wrong) = (0, Vec::new());
    for command in Cli::command().get_subcommands() {
        let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for call in below.lines().filter(|line| line.starts_with("  ")).flat_map(calls) {
            count += 1;
            let why = refused(&call, TextLocation::Line);
            wrong.extend(why.map(|why| format!("{}: {}\n{why}", command.get_name(), call.join(" "))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 30, "{count} calls in all");
}

#[test]
fn a_call_is_found_with_its_own_words() {
    assert_eq!(
        calls("  $ howlate cyclic --why && howlate why --last | head   # so"),
        [vec!["howlate", "cyclic", "--why"], vec!["howlate", "why", "--last"]]
    );
    assert_eq!(calls("howlate load 'cmd:a b' > x"), [["howlate", "load", "cmd:a b"]]);
    assert_eq!(calls("podman run howlate doctor"), Vec::<Vec<String>>::new());
    let found = commands("a `b` c\n    howlate \\\n  d      said of it\n```\ne\n```");
    let found: Vec<(TextLocation, &str)> =
        found.iter().map(|(place, text)| (*place, text.as_str())).collect();
    assert_eq!(
        found,
        [(TextLocation::Sentence, "b"), (TextLocation::Line, "howlate  d"), (TextLocation::Line, "e")]
    );
    let call = ["howlate", "cyclic", "--no-such"].map(str::to_owned);
    assert!(refused(&call, TextLocation::Sentence).is_some());
    let call = ["howlate", "compare"].map(str::to_owned);
    assert!(refused(&call, TextLocation::Line).is_some() && refused(&call, TextLocation::Sentence).is_none());
}
