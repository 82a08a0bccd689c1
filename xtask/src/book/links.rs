//! Finds broken links in the book.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The IDs of a page's headings, and its links to other pages.
struct Page {
    ids: BTreeSet<String>,
    links: BTreeSet<String>,
}

/// Every link to a missing file or heading, with the page that has it.
pub(super) fn broken_links(book: &Path) -> io::Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    let mut broken = Vec::new();
    for (path, page) in &pages {
        let folder = path.parent().unwrap_or(book);
        for link in &page.links {
            let (file, id) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { path.clone() } else { folder.join(file) };
            let to = to.canonicalize().ok().filter(|to| to.is_file());
            let has_id =
                |to: &PathBuf| id.is_empty() || pages.get(to).is_none_or(|page| page.ids.contains(id));
            if !to.as_ref().is_some_and(has_id) {
                broken.push(format!("{} links {link}, which is not there", path.display()));
            }
        }
    }
    Ok(broken)
}

/// Pages that mdBook generates: their links repeat those of other pages, or have another base.
const GENERATED_PAGES: [&str; 3] = ["404.html", "print.html", "toc.html"];

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, Page>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path().canonicalize()?;
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension() == Some(OsStr::new("html"))
            && !GENERATED_PAGES.iter().any(|page| name == *page)
        {
            pages.insert(path.clone(), parse_page(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn parse_page(html: &str) -> Page {
    let links = ["href", "src"].iter().flat_map(|name| attribute_values(html, name));
    let is_inside = |link: &String| !link.contains(':') && !link.starts_with('/');
    Page { ids: attribute_values(html, "id").collect(), links: links.filter(is_inside).collect() }
}

/// All values of an attribute.
fn attribute_values<'a>(html: &'a str, name: &str) -> impl Iterator<Item = String> + use<'a> {
    let start = format!(" {name}=\"");
    let places: Vec<usize> = html.match_indices(&start).map(|(place, _)| place + start.len()).collect();
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
        let broken = broken_links(folder.path()).unwrap();
        let ends: Vec<&str> = broken.iter().filter_map(|link| link.rsplit('/').next()).collect();
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
