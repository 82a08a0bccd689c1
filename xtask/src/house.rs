//! The size and the language of the code, counted: what only reading would show otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Identifiers that stand for anything: a reader has to find out what they are each time.
const VAGUE_NAMES: &[&str] = &[
    "one", "ones", "asked", "known", "kept", "told", "said", "words", "whom", "whose", "whoever", "nobody",
    "somebody", "them", "drawn", "had", "come", "gone", "meant", "looked", "begun", "wanted", "typed",
    "entered", "heard", "others", "whatever",
];
/// The same in comments, in lower case.
const VAGUE_PHRASES: &[&str] =
    &["whoever", "nobody", "somebody", "whom", "told", "is asked", "are asked", "was asked"];
/// Below this many lines a file is rather a part of its neighbour.
const SMALL_FILE: usize = 45;
/// Two structs mirror each other with this many names of fields in common, and this share of the smaller one's.
const MIRRORED: (usize, f64) = (5, 0.6);

#[derive(Default)]
struct House {
    crates: usize,
    code: usize,
    docs: usize,
    comments: usize,
    blank: usize,
    tests: usize,
    small_files: usize,
    vague_words: usize,
    /// Places of each type's name.
    types: BTreeMap<String, Vec<String>>,
    /// Field names of each struct, by place.
    structs: Vec<(String, BTreeSet<String>)>,
}

impl House {
    fn product(&self) -> usize {
        self.code + self.docs + self.comments + self.blank
    }

    fn lines(&self) -> usize {
        self.product() + self.tests
    }

    /// Vague words per thousand lines.
    fn vagueness(&self) -> f64 {
        self.vague_words as f64 * 1000.0 / self.lines() as f64
    }

    /// Type definitions, and those whose name another one has.
    fn definitions(&self) -> (usize, usize) {
        let count = |least: usize| self.types.values().map(Vec::len).filter(|places| *places >= least).sum();
        (count(1), count(2))
    }

    fn mirrored(&self) -> Vec<(&str, &str)> {
        let pairs = self.structs.iter().enumerate().flat_map(|(at, first)| {
            self.structs[at + 1..]
                .iter()
                .filter(move |second| mirror_each_other(&first.1, &second.1))
                .map(move |second| (first.0.as_str(), second.0.as_str()))
        });
        pairs.collect()
    }

    fn add_file(&mut self, path: &Path, name: &str) {
        let text = fs::read_to_string(path).unwrap_or_default();
        let is_test_file = is_test_file(name);
        let lines = text.lines().count();
        let stands_alone = name.ends_with("lib.rs") || name.ends_with("main.rs");
        self.small_files += usize::from(lines < SMALL_FILE && !stands_alone && !is_test_file);
        let mut in_tests = is_test_file;
        let mut lines = text.lines().peekable();
        let mut fields: Option<(String, BTreeSet<String>)> = None;
        while let Some(line) = lines.next() {
            let opens_tests =
                line == "#[cfg(test)]" && lines.peek().is_some_and(|next| is_inline_module(next));
            in_tests |= opens_tests;
            self.add_line(line, in_tests);
            if let Some(declared) = declared_type(line) {
                let place = format!("{declared} ({name})");
                self.types.entry(declared.to_owned()).or_default().push(name.to_owned());
                fields = (line.contains("struct ") && line.ends_with('{') && !in_tests)
                    .then(|| (place, BTreeSet::new()));
            } else if line.trim_start() == "}" {
                self.structs.extend(fields.take());
            } else if let Some((_, names)) = &mut fields {
                names.extend(field_name(line).map(str::to_owned));
            }
            in_tests = is_test_file || (in_tests && line != "}");
        }
    }

    fn add_line(&mut self, line: &str, in_tests: bool) {
        self.vague_words += vague_words(line);
        let text = line.trim_start();
        let counter = if in_tests {
            &mut self.tests
        } else if text.is_empty() {
            &mut self.blank
        } else if text.starts_with("///") || text.starts_with("//!") {
            &mut self.docs
        } else if text.starts_with("//") {
            &mut self.comments
        } else {
            &mut self.code
        };
        *counter += 1;
    }
}

fn mirror_each_other(first: &BTreeSet<String>, second: &BTreeSet<String>) -> bool {
    let common = first.intersection(second).count();
    let smaller = first.len().min(second.len());
    common >= MIRRORED.0 && common as f64 >= MIRRORED.1 * smaller as f64
}

fn is_test_file(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("tests.rs")
}

fn is_inline_module(line: &str) -> bool {
    line.starts_with("mod ") && line.ends_with('{')
}

/// The name of the type that a line begins to define.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    matches!(words.next()?, "struct" | "enum" | "trait" | "union").then_some(())?;
    let name = words.next()?.split(|letter: char| !is_of_identifier(letter)).next()?;
    name.starts_with(char::is_uppercase).then_some(name)
}

fn field_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    let (name, _) = line.split_once(": ")?;
    name.chars().all(is_of_identifier).then_some(name)
}

fn is_of_identifier(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn vague_words(line: &str) -> usize {
    let (code, comment) = line.split_once("//").unwrap_or((line, ""));
    // Every other part stands between quotes. A quote that is escaped, or a text of several lines, shifts them: rare enough.
    let outside_texts = code.split('"').step_by(2);
    let names = outside_texts.flat_map(|part| part.split(|letter| !is_of_identifier(letter)));
    let vague_names = names.filter(|name| VAGUE_NAMES.contains(name)).count();
    let comment = format!(" {} ", comment.to_lowercase().replace(|letter| !is_of_identifier(letter), " "));
    let vague_phrases = VAGUE_PHRASES.iter().map(|phrase| comment.matches(&format!(" {phrase} ")).count());
    vague_names + vague_phrases.sum::<usize>()
}

/// Counts all files of Rust, but for the programs that are measured.
fn survey() -> House {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let mut house = House::default();
    for folder in ["crates", "fuzz", "lab", "loop", "xtask"] {
        let mut pending = vec![root.join(folder)];
        while let Some(path) = pending.pop() {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            if path.is_dir() && !path.ends_with("runtimes/programs") && !path.ends_with("target") {
                house.crates += usize::from(folder == "crates" && path.join("Cargo.toml").exists());
                pending.extend(entries(&path));
            } else if name.ends_with(".rs") {
                house.add_file(&path, &name);
            }
        }
    }
    house
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Prints the counts; with `--types` each name that several types share, with `--mirrored` each pair of structs.
pub fn run(words: &[&str]) -> ExitCode {
    let house = survey();
    let (definitions, shared) = house.definitions();
    println!("{:>8}  crates", house.crates);
    println!("{:>8}  lines of Rust", house.lines());
    println!(
        "{:>8}  of them product: {} code, {} docs, {} comments",
        house.product(),
        house.code,
        house.docs,
        house.comments
    );
    println!("{:>8}  files below {SMALL_FILE} lines", house.small_files);
    println!("{:>8.1}  vague words per 1 000 lines", house.vagueness());
    println!("{definitions:>8}  types");
    println!("{:>7.1}%  of them share their name ({shared})", shared as f64 * 100.0 / definitions as f64);
    println!("{:>8}  pairs of structs that mirror each other", house.mirrored().len());
    if words.contains(&"--types") {
        for (name, places) in house.types.iter().filter(|(_, places)| places.len() > 1) {
            println!("{name}: {}", places.join(" "));
        }
    }
    if words.contains(&"--mirrored") {
        house.mirrored().iter().for_each(|(first, second)| println!("{first} ~ {second}"));
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vague_words_are_counted_in_names_and_comments_not_in_texts() {
        assert_eq!(vague_words("let known = one.kept(\"one said\"); // Nobody is told."), 5);
        assert_eq!(vague_words("let is_known = oneself; // Retold."), 0);
    }

    /// Lower a limit together with its number.
    #[test]
    fn what_makes_the_code_hard_to_read_only_falls() {
        let house = survey();
        let (definitions, shared) = house.definitions();
        let limits = [
            ("files below 45 lines", house.small_files as f64, 98.0),
            ("vague words per 1 000 lines", house.vagueness(), 3.1),
            ("per cent of types that share their name", shared as f64 * 100.0 / definitions as f64, 3.4),
            ("pairs of structs that mirror each other", house.mirrored().len() as f64, 47.0),
        ];
        for (what, count, most) in limits {
            assert!(count <= most, "{what}: {count:.1}, at most {most} are left (`cargo xtask house`)");
        }
    }

    #[test]
    fn structs_with_the_same_fields_mirror_each_other() {
        let fields = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let five = fields(&["a", "b", "c", "d", "e"]);
        assert!(mirror_each_other(&five, &fields(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"])));
        assert!(!mirror_each_other(&five, &fields(&["a", "b", "c", "d"])));
    }

    #[test]
    fn types_are_found_where_they_are_defined() {
        assert_eq!(declared_type("pub(crate) struct Late<'a> {"), Some("Late"));
        assert_eq!(declared_type("    enum State {"), Some("State"));
        assert_eq!(declared_type("/// A struct Late."), None);
    }
}
