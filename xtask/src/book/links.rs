//! Links of the book that lead nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A page of the book: its headings' names, and what it links.
struct Page {
    ids: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// Every link to a file or a heading that is not there, with the page that it is on.
pub(super) fn dead(book: &Path) -> io::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(book, &mut pages)?;
    let mut dead = Vec::new();
    for (path, page) in &pages {
        let folder = path.parent().unwrap_or(book);
        for link in &page.links {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { path.clone() } else { folder.join(file) };
            let to = to.canonicalize().ok().filter(|to| to.is_file());
            let has_id =
                |to: &PathBuf| id.is_empty() || pages.get(to).is_none_or(|page| page.ids.contains(id));
            if !to.as_ref().is_some_and(has_id) {
                dead.push(format!("{} links {link}, which is not there", path.display()));
            }
        }
    }
    Ok(dead)
}

/// Pages that mdBook makes for itself, with links that are made elsewhere.
const OTHERS: [&str; 3] = ["404.html", "print.html", "toc.html"];

fn read(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path().canonicalize()?;
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            read(&path, pages)?;
        } else if path.extension() == Some(OsStr::new("html")) && !OTHERS.iter().any(|other| name == *other) {
            pages.insert(path.clone(), page(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn page(html: &str) -> Page {
    let links = ["href", "src"].iter().flat_map(|name| values(html, name));
    let is_inside = |link: &String| !link.contains(':') && !link.starts_with('/');
    Page { ids: values(html, "id").collect(), links: links.filter(is_inside).collect() }
}

/// What an attribute is in each element that has it.
fn values<'a>(html: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let begin = format!(" {name}=\"");
    let places: Vec<usize> = html.match_indices(&begin).map(|(place, _)| place + begin.len()).collect();
    places
        .into_iter()
        .filter_map(|place| html[place..].split('"').next())
        .map(|value| value.replace("&amp;", "&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_and_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "a.html",
            "<h2 id=\"one\"></h2><a href=\"b.html#two\"><a class=\"x\" href=\"#one\"><img src=\"no.webp\">",
        );
        write("b.html", "<a href=\"a.html#no\"><a href=\"https://c.org/\">");
        let dead = dead(folder.path()).unwrap();
        let ends: Vec<&str> = dead.iter().filter_map(|one| one.rsplit('/').next()).collect();
        assert_eq!(
            ends,
            [
                "a.html links b.html#two, which is not there",
                "a.html links no.webp, which is not there",
                "b.html links a.html#no, which is not there"
            ]
        );
    }
}
