//! The documentation is complete: commands, options, links, the table of contents.

use std::fs;
use std::path::{Path, PathBuf};

use sources::{root, rust_files};

mod sources;

#[test]
fn every_command_and_option_is_documented() {
    let [documented, options] =
        ["docs/commands.md", "docs/options.md"].map(|page| fs::read_to_string(root().join(page)).unwrap());
    let commands = fs::read_to_string(root().join("crates/program/cli/src/lib.rs")).unwrap();
    let enumeration = commands.split("enum CliCommand {").nth(1).unwrap().split("\n}\n").next().unwrap();
    for line in enumeration
        .lines()
        .filter(|line| line.starts_with("    ") && line.trim().starts_with(char::is_uppercase))
    {
        let name: String = line.trim().chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let name: String = name.char_indices().map(kebab_case).collect();
        assert!(documented.contains(&format!("`howlate {name}")), "docs/commands.md lacks `howlate {name}`");
    }
    let mut cli = Vec::new();
    rust_files(&root().join("crates/program/cli/src"), &mut cli);
    for file in cli {
        let source = fs::read_to_string(&file).unwrap();
        for option in long_options(source.split("#[cfg(test)]\nmod tests").next().unwrap()) {
            assert!(options.contains(&format!("`--{option}")), "docs/options.md lacks `--{option}`");
        }
    }
}

/// `PlanLength` as `plan-length`, letter by letter.
fn kebab_case((place, letter): (usize, char)) -> String {
    let hyphen = if place > 0 && letter.is_uppercase() { "-" } else { "" };
    format!("{hyphen}{}", letter.to_lowercase())
}

/// The long options that clap derives from fields.
fn long_options(source: &str) -> Vec<String> {
    let mut options = Vec::new();
    let mut is_long = false;
    for line in source.lines() {
        if let Some(name) = line.split("long = \"").nth(1).and_then(|rest| rest.split('"').next()) {
            options.push(name.to_owned());
        } else if line.contains("#[arg(long") {
            is_long = true;
        } else if let Some(field) = field(line).filter(|_| is_long) {
            options.push(field.split(':').next().unwrap_or_default().replace('_', "-"));
            is_long = false;
        }
    }
    options
}

/// The name of the field that a line declares.
fn field(line: &str) -> Option<&str> {
    let line = line.trim().strip_suffix(',')?;
    let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
    let (name, _) = line.split_once(": ")?;
    name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_').then_some(name)
}

#[test]
fn links_between_pages_lead_somewhere() {
    const OTHER_PAGES: [&str; 6] = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "python/README.md",
    ];
    let mut pages = pages(&root().join("docs"));
    pages.extend(OTHER_PAGES.map(|page| root().join(page)));
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            if target.contains("://") {
                continue;
            }
            let file = if target.is_empty() { page.clone() } else { page.parent().unwrap().join(target) };
            assert!(file.exists(), "{} links to {target}", page.display());
            let is_there = heading.is_empty() || headings(&file).iter().any(|id| id == heading);
            assert!(is_there, "{} links to {link}, which has no such heading", page.display());
        }
    }
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<_>, Vec<_>) =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).partition(|path| path.is_dir());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    files.into_iter().filter(is_page).chain(folders.iter().flat_map(|folder| pages(folder))).collect()
}

#[test]
fn every_page_has_its_place_in_the_book() {
    let summary = root().join("docs/SUMMARY.md");
    let text = fs::read_to_string(&summary).unwrap();
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<PathBuf> =
        links.map(|link| summary.with_file_name(link).canonicalize().unwrap()).collect();
    listed.sort();
    for pair in listed.windows(2) {
        assert!(pair[0] != pair[1], "{} has two places", pair[0].display());
    }
    let docs = root().join("docs").canonicalize().unwrap();
    for page in pages(&docs).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(listed.contains(page), "docs/SUMMARY.md lacks {}", page.display());
    }
}

/// Phrases that are not plain English, and the highest allowed count of each in the pages; counts are only ever lowered.
const DIALECT: [(&str, usize); 16] = [
    ("if left out", 0),
    ("left out", 1),
    (" may not ", 0),
    ("nobody", 1),
    ("somebody", 0),
    ("whoever", 0),
    ("ordinary", 0),
    (" told ", 1),
    (" tells ", 2),
    ("come back", 3),
    ("comes back", 2),
    ("told apart", 0),
    ("held up", 0),
    ("is none", 2),
    ("meanwhile", 3),
    ("lateness", 10),
];

#[test]
fn dialect_only_falls() {
    let docs = root().join("docs");
    let mut pages = pages(&docs);
    pages.push(root().join("README.md"));
    let text: String = pages.iter().map(|page| fs::read_to_string(page).unwrap().to_lowercase()).collect();
    // Phrases may continue on the next line.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (phrase, most) in DIALECT {
        let count = text.matches(phrase).count();
        assert!(
            count <= most,
            "the pages have \"{phrase}\" {count} times, at most {most} are left: say it in standard English"
        );
    }
}

/// The IDs of a page's headings, by GitHub's rules.
fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let titles =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    titles
        .map(|title| title.to_lowercase().chars().filter(plain).collect::<String>().replace(' ', "-"))
        .collect()
}
