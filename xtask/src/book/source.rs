//! What the book is made from: docs/ and what it links outside, in one folder.

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
    let mut known: BTreeSet<PathBuf> = waiting.iter().cloned().collect();
    while let Some(file) = waiting.pop() {
        let to = folder.join(place(&file));
        fs::create_dir_all(to.parent().unwrap_or(folder))?;
        let failed = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        if file.extension() != Some(OsStr::new("md")) {
            fs::copy(root.join(&file), &to).map_err(failed)?;
            continue;
        }
        let text = fs::read_to_string(root.join(&file)).map_err(failed)?;
        let (text, linked) = moved(&file, &text);
        fs::write(&to, text)?;
        waiting.extend(linked.into_iter().filter(|one| known.insert(one.clone())));
    }
    Ok(())
}

/// Where a file of the repository is in the book: what is in docs/ is at its top, beside what is at that of the repository.
fn place(file: &Path) -> &Path {
    file.strip_prefix("docs").unwrap_or(file)
}

/// The text of a page of the repository as the book has it, and the files that it links.
fn moved(page: &Path, text: &str) -> (String, Vec<PathBuf>) {
    let folder = page.parent().unwrap_or(Path::new(""));
    let (mut moved, mut linked, mut end) = (String::new(), Vec::new(), 0);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let (file, heading) =
            dest_url.split_once('#').map_or((&*dest_url, None), |(file, id)| (file, Some(id)));
        let whole = &text[range.clone()];
        let Some(at) = whole.rfind(&format!("]({dest_url}")) else { continue };
        if file.is_empty() || file.contains(':') {
            continue;
        }
        let file = normal(&folder.join(file));
        let from = place(page).parent().unwrap_or(Path::new(""));
        let heading = heading.map_or_else(String::new, |id| format!("#{id}"));
        let begin = range.start + at + 2;
        moved.push_str(&text[end..begin]);
        moved.push_str(&format!("{}{heading}", relative(from, place(&file)).display()));
        end = begin + dest_url.len();
        linked.push(file);
    }
    moved.push_str(&text[end..]);
    (moved, linked)
}

/// A path without `..` and `.`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// How a file is reached from a folder beside or above it.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
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
            let (moved, found) = moved(Path::new(page), text);
            assert_eq!(moved, expected);
            assert_eq!(found, linked.iter().map(PathBuf::from).collect::<Vec<_>>(), "{page}");
        }
    }
}
