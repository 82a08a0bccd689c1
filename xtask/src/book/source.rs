//! Copies docs/ and the files that it links into one folder, from which mdBook builds the book.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag};

/// Writes every page that docs/SUMMARY.md lists, and every file that one of them links, into `folder`.
pub(super) fn write(root: &Path, folder: &Path) -> io::Result<()> {
    drop(fs::remove_dir_all(folder));
    let mut waiting = vec![PathBuf::from("docs/SUMMARY.md")];
    let mut seen: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(file) = waiting.pop() {
        let to = folder.join(place(&file));
        fs::create_dir_all(to.parent().unwrap_or(folder))?;
        let with_path =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        if file.extension() != Some(OsStr::new("md")) {
            fs::copy(root.join(&file), &to).map_err(with_path)?;
            continue;
        }
        let text = fs::read_to_string(root.join(&file)).map_err(with_path)?;
        let (text, linked) = relocate_links(&file, &text);
        fs::write(&to, text)?;
        waiting.extend(linked.into_iter().filter(|file| seen.insert(file.clone())));
    }
    Ok(())
}

/// The path in the book of a file of the repository: docs/ and the repository's top folder are merged.
fn place(file: &Path) -> &Path {
    file.strip_prefix("docs").unwrap_or(file)
}

/// The text of a page with its links adapted to the book, and the files of the repository that it links.
fn relocate_links(page: &Path, text: &str) -> (String, Vec<PathBuf>) {
    let folder = page.parent().unwrap_or(Path::new(""));
    let (mut relocated, mut linked, mut end) = (String::new(), Vec::new(), 0);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let (file, heading) =
            dest_url.split_once('#').map_or((&*dest_url, None), |(file, id)| (file, Some(id)));
        let link = &text[range.clone()];
        let Some(at) = link.rfind(&format!("]({dest_url}")) else { continue };
        if file.is_empty() || file.contains(':') {
            continue;
        }
        let file = normalize(&folder.join(file));
        let from = place(page).parent().unwrap_or(Path::new(""));
        let heading = heading.map_or_else(String::new, |id| format!("#{id}"));
        let begin = range.start + at + 2;
        relocated.push_str(&text[end..begin]);
        relocated.push_str(&format!("{}{heading}", relative(from, place(&file)).display()));
        end = begin + dest_url.len();
        linked.push(file);
    }
    relocated.push_str(&text[end..]);
    (relocated, linked)
}

/// A path without `..` and `.`.
fn normalize(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normalized.pop()),
            Component::CurDir => {}
            part => normalized.push(part),
        }
    }
    normalized
}

/// The relative path from a folder to a file.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_where_things_are_in_the_book() {
        for (page, text, expected, linked) in [
            (
                "README.md",
                "[a](docs/why.md#how), ![b](docs/p/x.webp)",
                "[a](why.md#how), ![b](p/x.webp)",
                vec!["docs/why.md", "docs/p/x.webp"],
            ),
            ("docs/loop.md", "[`h`](../loop/howlate.h)", "[`h`](loop/howlate.h)", vec!["loop/howlate.h"]),
            (
                "docs/tutorials/ci.md",
                "[a](../why.md) [b](../../CHANGELOG.md)",
                "[a](../why.md) [b](../CHANGELOG.md)",
                vec!["docs/why.md", "CHANGELOG.md"],
            ),
            (
                "docs/a.md",
                "[a](#b) [c](https://d.org/e) `](f.md)`\n\n    [g](h.md)\n",
                "[a](#b) [c](https://d.org/e) `](f.md)`\n\n    [g](h.md)\n",
                vec![],
            ),
            (
                "docs/a.md",
                "| [a](b.md) |\n|---|\n| [c](../d.md) |",
                "| [a](b.md) |\n|---|\n| [c](d.md) |",
                vec!["docs/b.md", "d.md"],
            ),
        ] {
            let (relocated, found) = relocate_links(Path::new(page), text);
            assert_eq!(relocated, expected);
            assert_eq!(found, linked.iter().map(PathBuf::from).collect::<Vec<_>>(), "{page}");
        }
    }
}
